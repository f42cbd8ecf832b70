use num_bigint::BigInt;
use num_rational::Ratio;
use proptest::prelude::*;
use schemars::JsonSchema;

use super::{Amount, Quantity};

type Rational = Ratio<BigInt>;

fn nanos(text: &str) -> i128 {
    Quantity::new(text).amount().unwrap_or_else(|error| panic!("{error}")).nanos()
}

fn error(text: &str) -> String {
    Quantity::new(text).amount().unwrap_err().to_string()
}

#[test]
fn every_suffix_means_what_kubernetes_says() {
    let table = [
        ("1n", 1),
        ("1u", 1_000),
        ("1m", 1_000_000),
        ("1", 1_000_000_000),
        ("1k", 1_000_000_000_000),
        ("1M", 10_i128.pow(15)),
        ("1G", 10_i128.pow(18)),
        ("1T", 10_i128.pow(21)),
        ("1P", 10_i128.pow(24)),
        ("1E", 10_i128.pow(27)),
        ("1Ki", 1_000_000_000 << 10),
        ("1Mi", 1_000_000_000 << 20),
        ("1Gi", 1_000_000_000 << 30),
        ("1Ti", 1_000_000_000 << 40),
        ("1Pi", 1_000_000_000 << 50),
        ("1Ei", 1_000_000_000 << 60),
        ("1e3", 10_i128.pow(12)),
        ("1E3", 10_i128.pow(12)),
        ("1e+3", 10_i128.pow(12)),
        ("1E-3", 1_000_000),
        ("1e0", 1_000_000_000),
        ("1e-000009", 1),
    ];
    for (text, expected) in table {
        assert_eq!(nanos(text), expected, "{text}");
    }
}

#[test]
fn every_accepted_spelling_of_a_number_is_read() {
    let table = [
        ("0", 0),
        ("-0", 0),
        ("+1", 1_000_000_000),
        ("-1", -1_000_000_000),
        ("5.", 5_000_000_000),
        (".5", 500_000_000),
        ("5.Ki", 5_120_000_000_000),
        (".5Gi", 500_000_000 << 30),
        ("1.5Gi", 1_500_000_000 << 30),
        ("007", 7_000_000_000),
        ("0.000000001", 1),
        ("0e999999999999999999999", 0),
        ("0.0Ei", 0),
    ];
    for (text, expected) in table {
        assert_eq!(nanos(text), expected, "{text}");
    }
}

#[test]
fn what_is_finer_than_a_nano_rounds_away_from_zero() {
    let table = [
        ("0.5n", 1),
        ("-0.5n", -1),
        ("1.1n", 2),
        ("0.0000000001", 1),
        ("1e-10", 1),
        ("1e-999999999", 1),
        ("-1e-99999999999999999999999", -1),
        ("0.0000000001Ki", 103),
        ("0.00000000050Ki", 512),
        ("1.0000000000", 1_000_000_000),
        ("1.0000000001", 1_000_000_001),
    ];
    for (text, expected) in table {
        assert_eq!(nanos(text), expected, "{text}");
    }
}

#[test]
fn what_is_no_number_is_refused_with_examples() {
    for text in ["", "abc", "+", "-", ".", "+.", "Ki", "e3", " 1", "--1", "٣"] {
        assert_eq!(
            error(text),
            format!(
                "`{text}` is not a quantity; write a number with an optional suffix, such as `4`, `500m` or `16Gi`"
            ),
        );
    }
}

#[test]
fn an_unknown_suffix_is_named_with_those_that_exist() {
    let table = [
        ("16GB", "GB"),
        ("16gi", "gi"),
        ("1 ", " "),
        ("1K", "K"),
        ("1ki", "ki"),
        ("1e", "e"),
        ("1e+", "e+"),
        ("1e1.5", "e1.5"),
        ("1Kie3", "Kie3"),
        ("1e3Ki", "e3Ki"),
        ("1.2.3", ".3"),
        ("1,5", ",5"),
    ];
    for (text, suffix) in table {
        assert_eq!(
            error(text),
            format!(
                "`{text}` ends in the unknown suffix `{suffix}`; use n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or \
                 an exponent such as e3"
            ),
        );
    }
}

#[test]
fn the_largest_amount_fits_and_one_more_is_an_error() {
    assert_eq!(nanos("170141183460469231731687303715884105727n"), i128::MAX);
    assert_eq!(nanos("-170141183460469231731687303715884105727n"), -i128::MAX);
    for text in
        ["170141183460469231731687303715884105728n", "1e30", "-1e30", "147573952590Ei", "999999999999E"]
    {
        assert_eq!(
            error(text),
            format!("`{text}` is out of range; write a quantity between -1.7e29 and 1.7e29"),
        );
    }
}

#[test]
fn a_megabyte_of_digits_is_answered_like_any_other_text() {
    let digits = "9".repeat(1 << 20);
    let shown = format!("{}…", "9".repeat(64));
    let out_of_range = format!("`{shown}` is out of range; write a quantity between -1.7e29 and 1.7e29");
    assert_eq!(error(&digits), out_of_range);
    assert_eq!(error(&format!("{digits}Ei")), out_of_range);
    assert_eq!(
        error("1e999999999"),
        "`1e999999999` is out of range; write a quantity between -1.7e29 and 1.7e29"
    );
    assert_eq!(
        error(&format!("1e{digits}")).len(),
        "`1e".len() + 62 + "…".len() + "` is out of range; write a quantity between -1.7e29 and 1.7e29".len()
    );
    assert_eq!(nanos(&format!("0.{digits}")), 1_000_000_000);
    assert_eq!(nanos(&format!("0.{digits}Ei")), 1_000_000_000 << 60);
    assert_eq!(nanos(&format!("{digits}e-1048576")), 1_000_000_000);
    assert_eq!(nanos(&format!("{}1", "0".repeat(1 << 20))), 1_000_000_000);
    assert_eq!(nanos(&format!("1{}e-1048576", "0".repeat(1 << 20))), 1_000_000_000);
}

#[test]
fn different_texts_may_mean_the_same() {
    let (left, right) = (Quantity::new("1024Mi"), Quantity::new("1Gi"));
    assert_ne!(left, right);
    assert_eq!(left.amount(), right.amount());
}

#[test]
fn amounts_are_shown_as_whole_numbers_or_whole_parts() {
    let table = [
        ("4", "4"),
        ("250m", "250m"),
        ("1.5", "1500m"),
        ("1k", "1000"),
        ("0", "0"),
        ("-1", "-1"),
        ("1n", "1n"),
        ("0.25m", "250u"),
    ];
    for (text, shown) in table {
        assert_eq!(Quantity::new(text).amount().unwrap().to_string(), shown);
    }
}

#[test]
fn bytes_are_shown_by_the_shortest_exact_text() {
    let table = [
        ("16Gi", "16Gi"),
        ("1536Mi", "1.5Gi"),
        ("1280Mi", "1.25Gi"),
        ("1300Mi", "1300Mi"),
        ("1.1Gi", "1.1Gi"),
        ("1.05Gi", "1.05Gi"),
        ("1024Mi", "1Gi"),
        ("16G", "16G"),
        ("1000", "1k"),
        ("1024", "1Ki"),
        ("500", "500"),
        ("0", "0"),
        ("-1536Mi", "-1.5Gi"),
        ("1500m", "1500m"),
        ("1e29", "100000000000E"),
    ];
    for (text, shown) in table {
        assert_eq!(Quantity::new(text).amount().unwrap().bytes().to_string(), shown);
    }
}

#[test]
fn whole_units_are_exact_or_rounded_up_on_request() {
    let amount = |text: &str| Quantity::new(text).amount().unwrap();
    assert_eq!(amount("3").to_units_exact(), Some(3));
    assert_eq!(amount("3500m").to_units_exact(), None);
    assert_eq!(amount("3500m").ceil_units(), 4);
    assert_eq!(amount("3").ceil_units(), 3);
    assert_eq!(amount("-3500m").ceil_units(), -3);
    assert_eq!(amount("-3").ceil_units(), -3);
}

#[test]
fn arithmetic_that_does_not_fit_gives_nothing() {
    let most = Amount::from_nanos(i128::MAX);
    assert_eq!(most.checked_add(Amount::from_nanos(1)), None);
    assert_eq!(Amount::from_nanos(i128::MIN).checked_sub(Amount::from_nanos(1)), None);
    assert_eq!(most.checked_mul(2_u64), None);
    assert_eq!(Amount::checked_sum([most, Amount::from_nanos(1)]), None);
    assert_eq!(Amount::checked_sum([]), Some(Amount::ZERO));
}

#[test]
fn integers_and_strings_arrive_as_the_user_wrote_them() {
    let table = [
        (r#""16Gi""#, "16Gi"),
        (r#""0016.50Gi""#, "0016.50Gi"),
        ("4", "4"),
        ("-4", "-4"),
        ("4.0", "4"),
        ("-0.0", "0"),
        ("9223372036854775807", "9223372036854775807"),
        ("18446744073709551615", "18446744073709551615"),
    ];
    for (json, text) in table {
        let quantity: Quantity = serde_json::from_str(json).unwrap();
        assert_eq!(quantity.as_str(), text);
        assert_eq!(serde_json::to_string(&quantity).unwrap(), format!("\"{text}\""));
    }
}

#[test]
fn numbers_that_json_makes_inexact_are_refused() {
    let error = |json: &str| serde_json::from_str::<Quantity>(json).unwrap_err().to_string();
    assert_eq!(
        error("1.5"),
        "the number `1.5` is not exact as JSON; write it as a string at line 1 column 3"
    );
    assert_eq!(
        error("18446744073709551616"),
        "the number `18446744073709552000` is not exact as JSON; write it as a string at line 1 column 20",
    );
    assert_eq!(
        error("true"),
        "invalid type: boolean `true`, expected an amount, such as `4`, `500m` or `16Gi` at line 1 column 4",
    );
}

#[test]
fn the_schema_is_the_one_the_api_server_knows() {
    let schema = Quantity::json_schema(&mut schemars::SchemaGenerator::default());
    assert_eq!(
        serde_json::to_value(schema).unwrap(),
        serde_json::json!({
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
            "x-kubernetes-int-or-string": true,
        }),
    );
}

const SUFFIXES: [(&str, u32, i32); 16] = [
    ("n", 0, -9),
    ("u", 0, -6),
    ("m", 0, -3),
    ("", 0, 0),
    ("k", 0, 3),
    ("M", 0, 6),
    ("G", 0, 9),
    ("T", 0, 12),
    ("P", 0, 15),
    ("E", 0, 18),
    ("Ki", 10, 0),
    ("Mi", 20, 0),
    ("Gi", 30, 0),
    ("Ti", 40, 0),
    ("Pi", 50, 0),
    ("Ei", 60, 0),
];

fn power_of_ten(exponent: i32) -> Rational {
    let power = Rational::from_integer(BigInt::from(10).pow(exponent.unsigned_abs()));
    if exponent < 0 { power.recip() } else { power }
}

/// A quantity and its meaning in nanos, worked out with fractions of big integers.
fn quantity_and_meaning() -> impl Strategy<Value = (String, Rational)> {
    let suffix = prop_oneof![
        proptest::sample::select(SUFFIXES.to_vec()).prop_map(|(text, shift, exponent)| (
            text.to_owned(),
            shift,
            exponent
        )),
        (proptest::sample::select(vec!["e", "E", "e+"]), 0..30_i32).prop_map(|(letter, exponent)| (
            format!("{letter}{exponent}"),
            0,
            exponent
        )),
        (0..40_i32).prop_map(|exponent| (format!("e-{exponent}"), 0, -exponent)),
    ];
    let number = prop_oneof![
        ("[0-9]{1,30}", "").prop_map(|(whole, _)| (whole, None)),
        ("[0-9]{1,12}", "[0-9]{0,30}").prop_map(|(whole, fraction)| (whole, Some(fraction))),
        ("", "[0-9]{1,30}").prop_map(|(whole, fraction)| (whole, Some(fraction))),
    ];
    (proptest::sample::select(vec!["", "+", "-"]), number, suffix).prop_map(
        |(sign, (whole, fraction), (suffix, shift, exponent))| {
            let point = fraction.as_ref().map_or(String::new(), |fraction| format!(".{fraction}"));
            let fraction = fraction.unwrap_or_default();
            let digits: BigInt = format!("0{whole}{fraction}").parse().unwrap();
            let meaning = Rational::from_integer(digits)
                * power_of_ten(exponent + 9 - i32::try_from(fraction.len()).unwrap())
                * Rational::from_integer(BigInt::from(1_u64 << shift));
            let meaning = if sign == "-" { -meaning } else { meaning };
            (format!("{sign}{whole}{point}{suffix}"), meaning)
        },
    )
}

/// Nanos, rounded away from zero, if they fit.
fn expected_nanos(meaning: &Rational) -> Option<i128> {
    let zero = Rational::from_integer(BigInt::from(0));
    let rounded = if *meaning < zero { meaning.floor() } else { meaning.ceil() };
    i128::try_from(rounded.to_integer()).ok().filter(|nanos| *nanos != i128::MIN)
}

/// Amounts small enough that their sums and products with a `u32` fit.
fn modest_amount() -> impl Strategy<Value = Amount> {
    (-(1_i128 << 90)..(1_i128 << 90)).prop_map(Amount::from_nanos)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn parsing_agrees_with_exact_fractions((text, meaning) in quantity_and_meaning()) {
        let amount = Quantity::new(text.as_str()).amount();
        prop_assert_eq!(amount.ok().map(Amount::nanos), expected_nanos(&meaning), "{}", text);
    }

    #[test]
    fn order_agrees_with_exact_fractions(left in quantity_and_meaning(), right in quantity_and_meaning()) {
        if let (Ok(a), Ok(b)) = (Quantity::new(left.0).amount(), Quantity::new(right.0).amount())
            && left.1.is_integer() && right.1.is_integer() {
            prop_assert_eq!(a.cmp(&b), left.1.cmp(&right.1));
        }
    }

    #[test]
    fn sums_and_products_agree_with_big_integers(a in modest_amount(), b in modest_amount(), count in any::<u32>()) {
        let big = |amount: Amount| BigInt::from(amount.nanos());
        prop_assert_eq!(big(a.checked_add(b).unwrap()), big(a) + big(b));
        prop_assert_eq!(big(a.checked_sub(b).unwrap()), big(a) - big(b));
        prop_assert_eq!(big(a.checked_mul(count).unwrap()), big(a) * BigInt::from(count));
    }

    #[test]
    fn products_fit_exactly_when_big_integers_say_so(nanos in any::<i128>(), count in any::<i64>()) {
        let product = BigInt::from(nanos) * BigInt::from(count);
        let expected = i128::try_from(product).ok();
        prop_assert_eq!(Amount::from_nanos(nanos).checked_mul(count).map(Amount::nanos), expected);
    }

    #[test]
    fn both_texts_of_an_amount_read_back_as_the_same_amount(nanos in (-i128::MAX..=i128::MAX), (text, _) in quantity_and_meaning()) {
        let parsed = Quantity::new(text).amount().ok();
        for amount in [Some(Amount::from_nanos(nanos)), parsed].into_iter().flatten() {
            prop_assert_eq!(Quantity::from(amount).amount(), Ok(amount));
            prop_assert_eq!(Quantity::from(amount.bytes()).amount(), Ok(amount));
        }
    }

    #[test]
    fn any_text_is_answered_without_a_panic(text in ".{0,40}") {
        let _ = Quantity::new(text).amount();
    }
}
