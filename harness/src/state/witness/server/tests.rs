//! The reading of rows from a server, against a stand-in that speaks as much of the protocol as a simple query needs
//! (postgresql.org/docs/current/protocol-message-formats.html).

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

use serde_json::json;

use super::*;

const QUERY: &str = "SELECT invoice FROM payouts";

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
    [&[kind][..], &length, body].concat()
}

fn take(stream: &mut TcpStream, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

fn body(stream: &mut TcpStream) -> Vec<u8> {
    let length = u32::from_be_bytes(take(stream, 4).try_into().unwrap()) as usize;
    take(stream, length - 4)
}

/// One row with one column of text.
fn row(text: &str) -> Vec<u8> {
    let column = [b"c\0".as_slice(), &[0; 6], &25_u32.to_be_bytes(), &[0xff; 6], &[0; 2]].concat();
    let length = u32::try_from(text.len()).unwrap().to_be_bytes();
    let data = [&1_u16.to_be_bytes(), length.as_slice(), text.as_bytes()].concat();
    let described = message(b'T', &[1_u16.to_be_bytes().as_slice(), &column].concat());
    [described, message(b'D', &data)].concat()
}

/// A server that answers the second query with these messages, and gives back the queries it was asked.
fn server(answer: Vec<u8>) -> (u16, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = move || {
        let (mut stream, _) = listener.accept().unwrap();
        body(&mut stream);
        let ready = message(b'Z', b"I");
        stream.write_all(&[message(b'R', &0_u32.to_be_bytes()), ready.clone()].concat()).unwrap();
        let mut queries = Vec::new();
        let done = message(b'C', b"BEGIN\0");
        for answer in [vec![], answer] {
            assert_eq!(take(&mut stream, 1), b"Q");
            queries.push(String::from_utf8_lossy(&body(&mut stream)).trim_end_matches('\0').to_owned());
            stream.write_all(&[answer, done.clone(), ready.clone()].concat()).unwrap();
        }
        queries
    };
    (port, std::thread::spawn(serve))
}

fn ask(port: u16) -> Result<Vec<Value>, Unread> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(server_rows(&format!("postgres://kp:secret@127.0.0.1:{port}/app"), QUERY))
}

fn error(code: &str, text: &str) -> Vec<u8> {
    message(b'E', format!("SERROR\0VERROR\0C{code}\0M{text}\0\0").as_bytes())
}

#[test]
fn rows_come_as_objects_out_of_a_transaction_that_only_reads() {
    let (port, serving) = server(row("{\"invoice\":\"inv_1\"}"));
    assert_eq!(ask(port), Ok(vec![json!({"invoice": "inv_1"})]));
    let queries = serving.join().unwrap();
    assert!(queries[0].starts_with("BEGIN READ ONLY"), "{queries:?}");
    assert!(queries[1].contains(QUERY), "{queries:?}");
}

#[test]
fn a_table_that_is_not_there_is_absent_and_a_wrong_column_is_not() {
    let (port, _serving) = server(error("42P01", "relation \"payouts\" does not exist"));
    let absent = ask(port).unwrap_err();
    assert!(
        matches!(&absent, Unread::Absent(what) if what.contains("relation \"payouts\"") && what.contains(QUERY)),
        "{absent:?}"
    );
    let (port, _serving) = server(error("42703", "column \"invoice\" does not exist"));
    assert!(matches!(ask(port), Err(Unread::Unreadable(what)) if what.contains("column \"invoice\"")));
}

#[test]
fn a_server_that_is_not_there_is_unreadable_and_the_password_is_not_told() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let error = ask(port).unwrap_err();
    let told = error.to_string();
    assert!(matches!(error, Unread::Unreadable(_)), "{told}");
    assert!(told.contains(&format!("postgres://127.0.0.1:{port}/app cannot be reached")) && !told.contains("secret"), "{told}");
}
