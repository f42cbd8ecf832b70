//! What came of cases, as JUnit has it: what test reports of pipelines read.

use std::io;

use butler_policies::policy::{Problem, cases::Unseen};
use quick_xml::{Writer, events::BytesText};

use super::{Outcome, Tested, report};
use crate::failure::Failure;

/// One test of a report.
struct Test {
    name: String,
    file: String,
    line: usize,
    /// What went wrong: in a line, and in full.
    failure: Option<(String, String)>,
}

/// The report over all folders.
pub(super) fn xml(all: &[Tested], allow_unseen: bool) -> Result<Vec<u8>, Failure> {
    let suites: Vec<(&str, Vec<Test>)> = all
        .iter()
        .map(|tested| Ok((tested.suite.name.as_str(), tests(tested, allow_unseen)?)))
        .collect::<Result<_, Failure>>()?;
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    let everything: Vec<&Test> = suites.iter().flat_map(|(_, tests)| tests).collect();
    let (tests, failures) = counts(&everything);
    writer
        .create_element("testsuites")
        .with_attribute(("tests", tests.as_str()))
        .with_attribute(("failures", failures.as_str()))
        .write_inner_content(|writer| {
            suites.iter().try_for_each(|(name, tests)| write_suite(writer, name, tests))
        })?;
    let mut xml = b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_vec();
    xml.append(&mut writer.into_inner());
    xml.push(b'\n');
    Ok(xml)
}

fn write_suite(writer: &mut Writer<Vec<u8>>, name: &str, all: &[Test]) -> io::Result<()> {
    let (tests, failures) = counts(&all.iter().collect::<Vec<_>>());
    writer
        .create_element("testsuite")
        .with_attribute(("name", clean(name).as_str()))
        .with_attribute(("tests", tests.as_str()))
        .with_attribute(("failures", failures.as_str()))
        .write_inner_content(|writer| all.iter().try_for_each(|test| write_test(writer, name, test)))?;
    Ok(())
}

fn write_test(writer: &mut Writer<Vec<u8>>, suite: &str, test: &Test) -> io::Result<()> {
    let Test { name, file, line, failure } = test;
    let element = writer
        .create_element("testcase")
        .with_attribute(("classname", clean(suite).as_str()))
        .with_attribute(("name", clean(name).as_str()))
        .with_attribute(("file", clean(file).as_str()))
        .with_attribute(("line", line.to_string().as_str()));
    match failure {
        None => element.write_empty()?,
        Some((message, text)) => element.write_inner_content(|writer| {
            writer
                .create_element("failure")
                .with_attribute(("message", clean(message).as_str()))
                .write_text_content(BytesText::new(&clean(text)))?;
            Ok(())
        })?,
    };
    Ok(())
}

/// How many there are, and how many failed.
fn counts(tests: &[&Test]) -> (String, String) {
    let failures = tests.iter().filter(|test| test.failure.is_some()).count();
    (tests.len().to_string(), failures.to_string())
}

fn tests(tested: &Tested, allow_unseen: bool) -> Result<Vec<Test>, Failure> {
    let Outcome { ran, unseen } = match &tested.outcome {
        Ok(outcome) => outcome,
        Err(problems) => {
            let files = tested.files();
            let test = |problem: &Problem| Test {
                name: problem.code.to_owned(),
                file: problem.file.clone(),
                line: problem.place(&files).map_or(1, |(line, _)| line),
                failure: Some((problem.message.clone(), problem.render(&files))),
            };
            return Ok(problems.iter().map(test).collect());
        }
    };
    let mut tests = Vec::new();
    for (place, ran) in ran {
        let failure = if ran.passed() {
            None
        } else {
            Some(("something else came than expected".to_owned(), report::difference(ran)?))
        };
        tests.push(Test { name: place.name.clone(), file: place.file.clone(), line: place.line, failure });
    }
    if !allow_unseen {
        tests.extend(unseen.iter().map(|unseen| {
            let Unseen { file, line, expression, .. } = unseen;
            let told = report::told(unseen);
            let failure = Some((told.clone(), expression.clone()));
            Test { name: told, file: file.clone(), line: *line, failure }
        }));
    }
    Ok(tests)
}

/// Without the characters that XML does not have, however they are written.
fn clean(text: &str) -> String {
    let is_there = |character: char| matches!(character, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    text.chars().map(|character| if is_there(character) { character } else { '\u{fffd}' }).collect()
}
