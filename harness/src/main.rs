//! The command `killpoint`. All that it does is behind the door of `cli`.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
