//! `--matrix NAME=VALUE`: which cells of a scenario's matrix are meant.

use killpoint::model::scenario::Scenario;

use super::failure::Failure;

/// The flag.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct MatrixArgs {
    /// Only the cells that have this value; may be given once for each name of the scenario's [matrix]
    #[arg(long, value_name = "NAME=VALUE")]
    pub matrix: Vec<String>,
}

impl MatrixArgs {
    /// The names and values, each of which the scenario has.
    ///
    /// # Errors
    /// One is not of that form, is not in the scenario, or its name is given twice.
    pub fn check(&self, scenario: &Scenario) -> Result<Vec<(String, String)>, Failure> {
        let mut only: Vec<(String, String)> = Vec::new();
        for typed in &self.matrix {
            let (name, value) = one(typed, scenario)?;
            if only.iter().any(|(known, _)| known == name) {
                let told = Failure::usage(format!("`--matrix {name}=...` is given twice, but a cell has one value for it"));
                return Err(told.hint(format!("leave `--matrix {name}=...` out to run all of its values")));
            }
            only.push((name.to_owned(), value.to_owned()));
        }
        Ok(only)
    }
}

fn one<'a>(typed: &'a str, scenario: &Scenario) -> Result<(&'a str, &'a str), Failure> {
    let Some((name, value)) = typed.split_once('=') else {
        return Err(Failure::usage(format!("`--matrix {typed}` is not of the form NAME=VALUE")).hint(names(scenario)));
    };
    let Some((_, values)) = scenario.matrix.iter().find(|(known, _)| known == name) else {
        return Err(Failure::usage(format!("the scenario's matrix has no `{name}`")).hint(names(scenario)));
    };
    if !values.iter().any(|known| known == value) {
        let told = Failure::usage(format!("`{value}` is not a value of `{name}` in the scenario's matrix"));
        return Err(told.hint(format!("its values are {}", values.join(", "))));
    }
    Ok((name, value))
}

fn names(scenario: &Scenario) -> String {
    let written = |(name, values): &(String, Vec<String>)| format!("{name}={}", values.join("|"));
    let all: Vec<String> = scenario.matrix.iter().map(written).collect();
    if all.is_empty() { "this scenario has no [matrix]".to_owned() } else { format!("it has {}", all.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(typed: &[&str]) -> Result<Vec<(String, String)>, String> {
        let mut scenario = killpoint::scenario::from_command(&["true".to_owned()], std::path::Path::new("/"));
        scenario.matrix = vec![("durability".to_owned(), vec!["sync".to_owned(), "async".to_owned()])];
        let args = MatrixArgs { matrix: typed.iter().map(|&typed| typed.to_owned()).collect() };
        args.check(&scenario).map_err(|failure| failure.render(false))
    }

    #[test]
    fn a_value_that_the_scenario_has_is_taken() {
        assert_eq!(check(&["durability=async"]), Ok(vec![("durability".to_owned(), "async".to_owned())]));
        assert_eq!(check(&[]), Ok(vec![]));
    }

    #[test]
    fn what_is_not_in_the_matrix_is_refused_and_what_is_there_is_named() {
        let all = [&["durability=exit"][..], &["speed=fast"], &["durability"], &["durability=sync", "durability=async"]];
        let told: Vec<String> = all.into_iter().map(|typed| check(typed).expect_err("refused")).collect();
        insta::assert_snapshot!(told.join("\n\n"));
    }
}
