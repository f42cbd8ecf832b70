use crate::run;

const LIBRARY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../policies/library");

/// What we ship holds what it promises: every case, every validation seen true and false, nothing to mend.
#[test]
fn the_library_passes_its_cases() {
    let ran = run(&["test", LIBRARY]);
    assert_eq!((ran.code, ran.errors.as_str()), (Some(0), ""), "{}", ran.out);
    let folders = ran.out.lines().filter(|line| line.starts_with("ok ")).count();
    assert!(folders >= 15, "{}", ran.out);
}

#[test]
fn the_library_is_clean() {
    let ran = run(&["check", LIBRARY]);
    assert_eq!((ran.code, ran.errors.as_str()), (Some(0), ""), "{}", ran.out);
}
