//! Broken scenarios: each rendering is kept, and was read for whether a stranger would know what to do.

use super::{LARGE, SMALL, large_with, shown};

/// One test per broken scenario.
macro_rules! broken {
    ($($name:ident: $text:expr;)*) => { $(
        #[test]
        fn $name() {
            insta::assert_snapshot!(shown(&$text));
        }
    )* };
}

broken! {
    a_typo_in_a_key: large_with("life_timeout", "life_timout");
    a_typo_in_a_section: SMALL.replace("[workflow]", "[workflw]");
    a_key_in_the_wrong_section: format!("{SMALL}[campaign]\nlife_timeout = \"3s\"\n");
    a_key_that_is_called_otherwise: SMALL.replace("start", "command");
    a_key_twice: large_with("lives_max = 7", "lives_max = 7\nlives_max = 8");
    a_wrong_shape: large_with("dir_copy = true", "dir_copy = \"yes\"");
    a_number_for_a_text: large_with("\"large\"", "12");
    a_table_for_a_list: large_with("faults = [\"kill\"]", "faults = { kill = true }");
    a_section_that_is_a_text: "name = \"x\"\nworkflow = \"./pay\"\n";
    a_fault_with_a_typo: large_with("[\"kill\"]", "[\"kill\", \"drop-akc\"]");
    a_fault_with_a_wrong_value: large_with("[\"kill\"]", "[\"slow-ack(2 days)\", \"error-after-commit(200)\", \"kill(9)\"]");
    a_fault_twice: large_with("[\"kill\"]", "[\"drop-ack\", \"drop-ack\"]");
    a_failing_step_that_cannot_be: format!("{SMALL}[campaign]\nfail = {{ effect = \"char ge\", at = 0, status = 200, times = 99 }}\n");
    a_failing_step_without_an_effect: format!("{SMALL}[campaign]\nfail = [{{ at = 1 }}]\n");
    an_upstream_behind_tls: format!("{SMALL}[sandbox]\nupstream = \"https://api.example.com\"\n");
    an_upstream_that_is_no_url: format!("{SMALL}[sandbox]\nupstream = \"localhost:9000/x?y\"\n");
    no_name: "[workflow]\nstart = [\"./pay\"]\n";
    an_empty_name: large_with("\"large\"", "\" \"");
    no_workflow: "name = \"x\"\n";
    nothing_at_all: "";
    no_start: "name = \"x\"\n\n[workflow]\ndir = \".\"\n";
    an_empty_start: "name = \"x\"\n[workflow]\nstart = []\n";
    a_start_that_is_one_text: "name = \"x\"\n[workflow]\nstart = \"python refund.py --cents 2900\"\n";
    a_start_that_needs_a_shell: "name = \"x\"\n[workflow]\nstart = \"./pay | tee $LOG\"\n";
    a_setup_that_mixes_words_and_commands: large_with("[[\"python3\", \"-m\", \"venv\", \"{venv}\"], [", "[\"make\", [");
    a_time_without_a_unit: large_with("\"30s\"", "30");
    a_time_with_a_wrong_unit: large_with("\"30s\"", "\"30 seconds\"");
    a_time_that_is_too_long: large_with("\"30s\"", "\"25h\"");
    no_time_at_all: large_with("\"30s\"", "\"0s\"");
    an_exit_code_that_cannot_be: large_with("[0, 3]", "[0, 300]");
    an_exit_code_that_says_two_things: large_with("[75]", "[3]");
    only_one_life: large_with("lives_max = 7", "lives_max = 1");
    a_glob_that_is_none: large_with("\"*.log\"", "\"[a-\"");
    a_json_path_that_is_none: large_with("$.metadata.invoice", "$.metadata[invoice]");
    an_intent_that_says_nothing: large_with("$.metadata.invoice", "metadata.invoice");
    an_effect_with_a_host: large_with("POST /v1/charges", "POST https://api.stripe.com/v1/charges");
    an_effect_in_small_letters: large_with("POST /v1/charges", "post /v1/charges");
    an_effect_without_a_method: large_with("POST /v1/charges", "/v1/charges");
    an_effect_with_half_a_segment: large_with("{id}/pause", "sub_{id}/pause");
    a_promise_in_single_brackets: format!("{SMALL}[promise]\nname = \"charge\"\n");
    a_promise_without_an_effect: format!("{SMALL}[[promise]]\nname = \"charge\"\n");
    two_promises_of_one_name: large_with("\"pause\"", "\"charge\"");
    two_promises_of_one_effect: large_with("/v1/subscriptions/{id}/pause", "/v1/charges");
    two_promises_of_the_same_requests: large_with("/v1/charges", "/v1/subscriptions/*/pause/");
    a_promise_that_cannot_be_named: large_with("name = \"charge\"", "name = \"charge #1\"");
    counts_that_contradict: large_with("at_least = 1", "exactly = 1");
    bounds_the_wrong_way_round: large_with("at_least = 1", "at_least = 3");
    a_promise_that_cannot_be_broken: large_with("at_least = 1\nat_most = 2", "at_least = 0");
    counts_without_an_intent: large_with("intent = \"$.metadata.invoice\"", "");
    a_negative_count: large_with("at_least = 1", "at_least = -1");
    an_unknown_placeholder: large_with("{matrix.mode}", "{matrix.mod}");
    a_placeholder_the_matrix_lacks: format!("{SMALL}env = {{ MODE = \"{{matrix.durability}}\" }}");
    a_brace_that_is_meant: large_with("\"--mode\"", "'{\"mode\": 1}'");
    a_brace_that_is_not_closed: large_with("{{braces}}", "{braces");
    a_trial_s_placeholder_in_the_setup: large_with("DIR={dir}", "DIR={state}");
    an_empty_matrix: format!("{SMALL}[matrix]\n");
    a_matrix_row_without_values: large_with("[1, 2]", "[]");
    a_matrix_name_that_is_used_nowhere: large_with("\"{matrix.batch}\"", "\"1\"");
    a_matrix_value_twice: large_with("[1, 2]", "[1, \"1\"]");
    a_matrix_that_is_too_large: large_with("[1, 2]", &format!("{:?}", (0..200).collect::<Vec<_>>()));
    a_sample_without_its_size: large_with("trials = 100\n", "");
    a_sweep_with_a_size: large_with("strategy = \"sample\"", "strategy = \"sweep\"");
    values_of_a_later_version: large_with("depth = 1", "depth = 9")
        .replace("stripe-v1", "stripe-v2").replace("process-death", "power-loss").replace("[\"kill\"]", "[\"kill\", \"drop-ack\"]")
        .replace("\"sample\"", "\"replay\"");
    a_word_with_a_typo: large_with("\"window\"", "\"windows\"");
    a_text_without_quotes: SMALL.replace("\"small\"", "small");
    a_list_that_is_not_closed: SMALL.replace("]\n", "\n");
    a_text_that_is_not_closed: SMALL.replace("small\"", "small");
    a_nul_in_the_file: SMALL.replace("small", "sm\0all");
    a_nul_in_a_word: SMALL.replace("./pay", "./pay\\u0000");
    a_key_of_the_top_in_a_section: "[workflow]\nname = \"x\"\nstart = [\"./pay\"]\n";
    a_text_for_a_list: large_with("faults = [\"kill\"]", "faults = \"kill\"");
    windows_newlines: large_with("window", "windw").replace('\n', "\r\n");
    wide_letters_and_tabs_before_the_trouble: format!("{SMALL}\tenv = {{ \"日本語\" = \"grüße 👩‍👩‍👧 {{x}}\" }}\n");
    a_byte_order_mark: format!("\u{FEFF}{}", SMALL.replace("start", "strt"));
    escapes_before_the_trouble: format!("{SMALL}env = {{ A = \"\\u00e4 {{x}}\" }}\n");
    several_at_once: large_with("lives_max = 7", "lives_max = 1").replace("30s", "30").replace("\"POST /v1/charges\"", "\"charges\"");
    more_than_can_be_shown: format!("{SMALL}env = {{ {} }}\n", (0..12).map(|n| format!("A{n} = \"{{a{n}}}\"")).collect::<Vec<_>>().join(", "));
}

#[test]
fn colour_adds_nothing_but_colour() {
    let error = super::super::parse(&LARGE.replace("30s", "30"), "pay.toml", std::path::Path::new("/base")).expect_err("no unit");
    let (plain, coloured) = (error.render(false), error.render(true));
    assert!(coloured.contains("\u{1b}["));
    assert!(!plain.contains('\u{1b}'));
    assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), plain);
}
