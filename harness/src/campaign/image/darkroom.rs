//! The darkroom: gives each shot the digest by which states are told apart, by bytes or by meaning.
//!
//! Within one recording volatile values are the same in every image. Between recordings they differ: what is volatile is learned from
//! the ends of the uninjured lives, and renamed in the order in which it appears.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::campaign::options::CampaignError;
use crate::model::reel::Reel;
use crate::model::scenario::Dedup;
use crate::model::shot::Shot;
use crate::state::{Document, ImageError, ImageId, ImageStore, Reader, Volatile, digest};

/// Columns of the ledger that hold times, which are no part of a state.
const TIMES: &[(&str, &str)] = &[
    ("requests", "received_us"),
    ("requests", "executed_us"),
    ("requests", "answered_us"),
    ("effects", "executed_us"),
    ("idempotency_keys", "created_us"),
];

/// Tells states apart.
#[derive(Debug)]
pub struct Darkroom {
    dedup: Dedup,
    store: Arc<ImageStore>,
    reader: Mutex<Reader>,
    volatile: Volatile,
    known: Mutex<HashMap<(String, String), String>>,
}

impl Darkroom {
    /// Learns what is volatile from the ends of these recordings. From one alone nothing can be learned: then states of different lives
    /// that differ in a volatile value stay apart.
    ///
    /// # Errors
    /// An image cannot be read.
    pub fn new(dedup: Dedup, store: &Arc<ImageStore>, clean: &[Reel]) -> Result<Self, CampaignError> {
        let mut reader = Reader::new(store.clone());
        for shot in clean.iter().filter_map(|reel| reel.shots.last()).filter(|_| dedup == Dedup::Logical) {
            shot.files.parse().and_then(|id| reader.learn(&id)).map_err(unreadable)?;
        }
        let volatile = if dedup == Dedup::Logical && clean.len() > 1 {
            let ends = clean.iter().filter_map(|reel| reel.shots.last());
            let documents = ends.map(|shot| documents(&mut reader, shot)).collect::<Result<Vec<_>, _>>()?;
            Volatile::learn(&documents)
        } else {
            Volatile::none()
        };
        Ok(Self { dedup, store: store.clone(), reader: Mutex::new(reader), volatile, known: Mutex::default() })
    }

    /// The digests of some shots.
    ///
    /// # Errors
    /// An image cannot be read.
    pub fn digests(&self, shots: &[Shot]) -> Result<Vec<String>, CampaignError> {
        shots.iter().enumerate().map(|(number, shot)| self.digest(number, shot)).collect()
    }

    /// What the folders of a shot mean, without its ledger; `None` where states are told apart by bytes.
    ///
    /// # Errors
    /// An image cannot be read.
    pub fn files(&self, shot: &Shot) -> Result<Option<String>, CampaignError> {
        if self.dedup != Dedup::Logical {
            return Ok(None);
        }
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let read = shot.files.parse().and_then(|id| reader.read(&id));
        read.map(|document| Some(digest(&document, &self.volatile).to_string())).map_err(unreadable)
    }

    fn digest(&self, number: usize, shot: &Shot) -> Result<String, CampaignError> {
        match self.dedup {
            Dedup::None => Ok(self.raw(&[&shot.files, &shot.ledger, &number.to_string()])),
            Dedup::Raw => Ok(self.raw(&[&shot.files, &shot.ledger])),
            Dedup::Logical => {
                let bytes = (shot.files.clone(), shot.ledger.clone());
                if let Some(known) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&bytes) {
                    return Ok(known.clone());
                }
                let documents = documents(&mut self.reader.lock().unwrap_or_else(PoisonError::into_inner), shot)?;
                let digest = digest(&documents, &self.volatile).to_string();
                self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(bytes, digest.clone());
                Ok(digest)
            }
        }
    }

    fn raw(&self, parts: &[&str]) -> String {
        self.store.digest_of(parts.join(" ").as_bytes())
    }
}

fn documents(reader: &mut Reader, shot: &Shot) -> Result<Document, CampaignError> {
    let read = |reader: &mut Reader| -> Result<Document, ImageError> {
        let id: ImageId = shot.files.parse()?;
        let mut document = reader.read(&id)?;
        document.add(&reader.read_database("ledger", &shot.ledger, TIMES)?);
        Ok(document)
    };
    read(reader).map_err(unreadable)
}

/// An image that cannot be read back.
pub fn unreadable(error: ImageError) -> CampaignError {
    CampaignError::Files { what: "a crash image cannot be read".to_owned(), source: Box::new(error) }
}
