//! `killpoint sandbox`: the billing API alone, for whoever only wants one that keeps to the rules of idempotency keys.
//!
//! Its address goes to stdout, for programs; what it does goes to stderr, for people.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use killpoint::model::exit::Exit;
use killpoint::model::ledger::Request;
use killpoint::model::scenario::{Profile, SandboxSpec};
use killpoint::sandbox::{self, Doors, NoWatch, Sandbox, SandboxConfig, SandboxError};
use tokio::signal::unix::{SignalKind, signal};

use super::failure::Failure;
use super::help;
use super::options::Format;
use super::terminal::{Terminal, washed};

/// Serve the billing API alone, to be called by any Stripe client.
///
/// Charges, payment intents, refunds and customers are made, looked up and searched as at Stripe; any other path that is written to
/// has an effect of no shape. Mails are taken by SMTP and delivered to nobody. Idempotency keys follow the rules of the profile. Each request is a line on the terminal and a row of
/// the ledger, an SQLite file. No crash is injected, and any API key is good.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = help::AFTER_SANDBOX)]
pub struct SandboxArgs {
    /// Whose rules of idempotency keys it follows, as in a scenario
    #[arg(long, value_name = "PROFILE", default_value = "stripe-v1", value_parser = profile)]
    profile: Profile,
    /// Whether the MCP tools at /mcp take an idempotency key
    #[arg(long)]
    mcp_keys: bool,
    /// The port of 127.0.0.1 to listen on; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// The port of 127.0.0.1 on which mails are taken by SMTP; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    smtp_port: u16,
    /// Keep the ledger in this file and go on with what is in it; by default it is a temporary one
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// Print the OpenAPI description of the API and leave
    #[arg(long, conflicts_with_all = ["profile", "port", "smtp_port", "ledger", "format"])]
    openapi: bool,
    /// How the address is printed: `url http://...` or one JSON object
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
}

/// A profile by the name that a scenario gives it.
fn profile(name: &str) -> Result<Profile, String> {
    serde_json::from_value(name.into()).map_err(|error| error.to_string())
}

impl SandboxArgs {
    /// Serves until Ctrl-C or SIGTERM.
    ///
    /// # Errors
    /// The port cannot be had, the ledger cannot be opened or is not complete, or stdout cannot be written.
    pub fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        if self.openapi {
            terminal.print(&format!("{:#}\n", sandbox::openapi()))?;
            return Ok(Exit::Clean);
        }
        let failed = |error: std::io::Error| Failure::new(Exit::Environment, "the sandbox cannot run here").cause(error);
        let temporary = tempfile::tempdir().map_err(failed)?;
        let ledger = self.ledger.clone().unwrap_or_else(|| temporary.path().join("ledger.db"));
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(failed)?;
        runtime.block_on(self.serve(terminal, &ledger))?;
        Ok(Exit::Clean)
    }

    async fn serve(&self, terminal: &Terminal, ledger: &Path) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::new(Exit::Environment, "signals cannot be listened for").cause(error);
        // Before the address is told: from then on a signal is an orderly end.
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let doors = Doors { http: listen(self.port, "--port")?, smtp: listen(self.smtp_port, "--smtp-port")? };
        let epoch = Instant::now();
        let spec = SandboxSpec { profile: self.profile, mcp_keys: self.mcp_keys, ..SandboxSpec::default() };
        let config = SandboxConfig { spec, rules: Vec::new(), ledger_path: ledger.to_owned(), epoch };
        let sandbox = Sandbox::start_on(doors, config, Arc::new(NoWatch)).await.map_err(broken)?;
        let before = sandbox.ledger().map_err(broken)?.len();
        let mut finished = sandbox.finished();
        let show = |seq| -> Result<(), Failure> {
            if let Some(request) = sandbox.request(seq).map_err(broken)? {
                terminal.note(&line(&request));
            }
            Ok(())
        };
        terminal.note(&self.opening(&sandbox, ledger));
        terminal.print(&self.address(&sandbox, ledger))?;
        terminal.note(HEAD);
        loop {
            tokio::select! {
                Some(seq) = finished.recv() => show(seq)?,
                _ = interrupt.recv() => break,
                _ = terminate.recv() => break,
            }
        }
        // What was over before the signal came is shown as well.
        while let Ok(seq) = finished.try_recv() {
            show(seq)?;
        }
        let all = sandbox.ledger().map_err(broken);
        sandbox.stop().await;
        terminal.note(&closing(&all?[before..]));
        Ok(())
    }

    /// The lines for programs.
    fn address(&self, sandbox: &Sandbox, ledger: &Path) -> String {
        let (url, smtp, profile) = (sandbox.url(), sandbox.mail_url(), self.profile);
        match self.format {
            Format::Text => format!("url {url}\nsmtp {smtp}\n"),
            Format::Json => {
                let facts =
                    serde_json::json!({ "url": url, "smtp": smtp, "ledger": ledger.to_string_lossy(), "profile": profile });
                format!("{facts}\n")
            }
        }
    }

    /// What people need to begin.
    fn opening(&self, sandbox: &Sandbox, ledger: &Path) -> String {
        let (url, smtp) = (sandbox.url(), sandbox.mail_addr());
        let kept = if self.ledger.is_some() { "kept" } else { "temporary, gone at the end; keep it with --ledger FILE" };
        let port = url.rsplit(':').next().unwrap_or_default();
        format!(
            "The billing API listens at {url} until Ctrl-C. Any API key is good.\n\
             ledger         {ledger} ({kept})\n\
             stripe-python  stripe.StripeClient(\"sk_test_x\", base_addresses={{\"api\": \"{url}\"}})\n\
             stripe-node    new Stripe(\"sk_test_x\", {{ protocol: \"http\", host: \"127.0.0.1\", port: {port} }})\n\
             curl           curl {url}/v1/charges -H 'Idempotency-Key: order-17' -d amount=2900 -d currency=usd\n\
             description    {url}/_killpoint/openapi.json\n\
             mails          smtplib.SMTP(\"{host}\", {smtp_port}); none is delivered\n",
            host = smtp.ip(),
            smtp_port = smtp.port(),
            ledger = ledger.display(),
        )
    }
}

/// The table's head.
const HEAD: &str = "  seq  method  status  outcome   path                                  idempotency key";

fn listen(port: u16, flag: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| {
        let told = Failure::new(Exit::Environment, format!("cannot listen on 127.0.0.1:{port}")).cause(error);
        told.hint(format!("leave out `{flag}` to take a free one; the address is printed"))
    })
}

/// A request as a line of the table. What a client wrote cannot drive the terminal.
fn line(request: &Request) -> String {
    let outcome = serde_json::to_value(request.outcome).ok();
    let outcome = outcome.as_ref().and_then(|word| word.as_str()).unwrap_or_default();
    // A request that was let go without an answer has no status.
    let status = if request.status == 0 { "-".to_owned() } else { request.status.to_string() };
    let (method, path) = (washed(&request.method), washed(&request.path));
    let key = request.key.as_deref().map_or_else(|| "-".to_owned(), washed);
    format!("{:>5}  {method:<6}  {status:<6}  {outcome:<8}  {path:<36}  {key}", request.seq)
}

/// The effects per endpoint.
fn closing(requests: &[Request]) -> String {
    let mut effects: BTreeMap<String, usize> = BTreeMap::new();
    for request in requests.iter().filter(|request| request.had_effect()) {
        *effects.entry(format!("{} {}", washed(&request.method), washed(&sandbox::endpoint(&request.path)))).or_default() += 1;
    }
    let lines: Vec<String> = effects.iter().map(|(endpoint, count)| format!("{count:>5}  {endpoint}")).collect();
    let total: usize = effects.values().sum();
    let (requests, s, es) = (requests.len(), plural(requests.len()), plural(total));
    format!("\n{requests} request{s}, {total} effect{es}{}\n{}", if total == 0 { "." } else { ":" }, lines.join("\n"))
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn broken(error: SandboxError) -> Failure {
    let mut told = Failure::new(Exit::Environment, error.to_string());
    let mut cause = std::error::Error::source(&error);
    while let Some(next) = cause {
        told = told.cause(next);
        cause = next.source();
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use killpoint::model::ledger::Outcome;

    fn request(method: &str, path: &str, outcome: Outcome, status: u16) -> Request {
        Request {
            seq: 7,
            life: 1,
            effect: "e".to_owned(),
            ordinal: 1,
            method: method.to_owned(),
            path: path.to_owned(),
            query: None,
            headers: BTreeMap::new(),
            body: serde_json::Value::Null,
            body_sha256: String::new(),
            key: Some("order\u{1b}[2J".to_owned()),
            key_at: None,
            fault: None,
            outcome,
            status,
            object: None,
            received_us: 0,
            executed_us: None,
            answered_us: None,
        }
    }

    #[test]
    fn a_line_stands_below_its_head_and_cannot_drive_the_terminal() {
        let line = line(&request("POST", "/v1/charges", Outcome::Executed, 200));
        assert_eq!(HEAD.find("path"), line.find("/v1/charges"));
        assert_eq!(HEAD.find("idempotency key"), line.find("order\\u{1b}[2J"));
    }

    #[test]
    fn the_end_counts_effects_by_endpoint_and_not_repetitions() {
        let all = [
            request("POST", "/v1/charges", Outcome::Executed, 200),
            request("POST", "/v1/charges", Outcome::Replayed, 200),
            request("POST", "/v1/charges/ch_000001a/capture", Outcome::Executed, 200),
            request("POST", "/v1/charges/ch_000002b/capture", Outcome::Executed, 200),
        ];
        assert_eq!(closing(&all), "\n4 requests, 3 effects:\n    1  POST /v1/charges\n    2  POST /v1/charges/:id/capture");
        assert_eq!(closing(&[]), "\n0 requests, 0 effects.\n");
    }
}
