//! `killpoint schema`: the JSON Schemas of what people write and programs read.

use killpoint::model::exit::Exit;

use super::failure::Failure;
use super::render;
use super::terminal::Terminal;

/// Print a JSON Schema, for an editor that completes scenarios or a program that reads reports.
#[derive(Clone, Debug, clap::Args)]
pub struct SchemaArgs {
    /// Of what
    #[arg(value_enum, default_value_t, value_name = "WHAT")]
    what: What,
}

/// What has a schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum What {
    /// A scenario file
    #[default]
    Scenario,
    /// report.json
    Report,
    /// What `killpoint audit --format json` prints
    Audit,
}

impl SchemaArgs {
    /// Prints the schema.
    ///
    /// # Errors
    /// Stdout cannot be written.
    pub fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let schema = match self.what {
            What::Scenario => killpoint::scenario::json_schema(),
            What::Report => render::report_schema(),
            What::Audit => render::audit_schema(),
        };
        terminal.print(&format!("{schema:#}\n"))?;
        Ok(Exit::Clean)
    }
}
