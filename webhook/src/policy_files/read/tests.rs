use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

fn directory(files: &[&str]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for file in files {
        write(directory.path(), file, file);
    }
    directory
}

fn write(directory: &Path, file: &str, text: &str) {
    let path = directory.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn paths(directory: &Path) -> Vec<String> {
    let files = read(directory).unwrap();
    let below = |file: SourceFile| {
        let path = Path::new(&file.path).strip_prefix(directory).unwrap();
        path.to_str().unwrap().to_owned()
    };
    files.into_iter().map(below).collect()
}

#[test]
fn policies_are_read_by_name_and_nothing_else_is() {
    let directory = directory(&[
        "b.yaml",
        "a.yml",
        "c/policy.json",
        "c/cases.yaml",
        "c/README.md",
        "c/d/.hidden.yaml",
        ".git/x.yaml",
        "a.yaml.bak",
        "yaml",
    ]);
    assert_eq!(paths(directory.path()), ["a.yml", "b.yaml", "c/policy.json"]);
}

#[test]
fn a_file_is_read_by_its_path_whatever_it_is_called() {
    let directory = directory(&["one.txt"]);
    let path = directory.path().join("one.txt");
    let file = SourceFile { path: path.display().to_string(), text: "one.txt".to_owned() };
    assert_eq!(read(&path).unwrap(), [file]);
}

#[test]
fn a_mounted_config_map_is_read_once() {
    let directory = directory(&["..2026_1/a.yaml", "..2026_1/below/b.yaml"]);
    symlink("..2026_1", directory.path().join("..data")).unwrap();
    symlink("..data/a.yaml", directory.path().join("a.yaml")).unwrap();
    symlink("..data/below", directory.path().join("below")).unwrap();
    assert_eq!(paths(directory.path()), ["a.yaml", "below/b.yaml"]);
}

#[test]
fn links_that_lead_around_end() {
    let directory = directory(&["a/one.yaml"]);
    symlink("..", directory.path().join("a/up")).unwrap();
    symlink("a", directory.path().join("b")).unwrap();
    assert_eq!(paths(directory.path()), ["a/one.yaml"]);
}

#[test]
fn what_cannot_be_read_is_named() {
    let message = |directory: &Path| {
        let base = directory.display().to_string();
        read(directory).unwrap_err().to_string().replace(&base, "DIR")
    };
    let empty = directory(&[]);
    assert_eq!(
        message(&empty.path().join("none")),
        "`DIR` cannot be read: No such file or directory (os error 2)"
    );
    let dangling = directory(&[]);
    symlink("gone.yaml", dangling.path().join("a.yaml")).unwrap();
    assert_eq!(
        message(dangling.path()),
        "`DIR/a.yaml` cannot be read: No such file or directory (os error 2)"
    );
    let socket = directory(&[]);
    let _listener = std::os::unix::net::UnixListener::bind(socket.path().join("a.yaml")).unwrap();
    assert_eq!(message(socket.path()), "`DIR/a.yaml` is neither a file nor a directory");
    let deep = directory(&["1/2/3/4/5/6/7/8/9/a.yaml"]);
    assert_eq!(message(deep.path()), "`DIR/1/2/3/4/5/6/7/8/9` is more than 8 directories deep");
}

#[test]
fn bytes_that_are_no_text_are_refused_wherever_they_are() {
    let policy = "kind: ValidatingAdmissionPolicy\nmetadata: {name: a}\n";
    let utf_16 = |text: &str| -> Vec<u8> {
        [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
    };
    let hostile: [(&str, Vec<u8>); 10] = [
        ("a byte that begins nothing", b"\xff".to_vec()),
        ("a byte that goes on with nothing", b"\x80".to_vec()),
        ("a letter of Latin-1", b"# Gr\xfc\xdfe\n".to_vec()),
        ("a slash that is too long", b"name: a\xc0\xafb\n".to_vec()),
        ("an end of text that is too long", b"name: a\xc0\x80b\n".to_vec()),
        ("half of a pair", b"name: \xed\xa0\x80\n".to_vec()),
        ("a letter beyond the last", b"name: \xf4\x90\x80\x80\n".to_vec()),
        ("a letter that is cut off", b"# \xe4\xb8".to_vec()),
        ("another encoding", utf_16(policy)),
        ("a compressed file", b"\x1f\x8b\x08\x00\xff\xfe".to_vec()),
    ];
    for (what, bytes) in hostile {
        let text = policy.as_bytes();
        for bytes in [bytes.clone(), [&bytes, text].concat(), [text, &bytes].concat()] {
            // One file that is none refuses all of them, first or last.
            for (bad, good) in [("a.yaml", "b.yaml"), ("b.yaml", "a.yaml")] {
                let directory = directory(&[good]);
                fs::write(directory.path().join(bad), &bytes).unwrap();
                let error = read(directory.path()).unwrap_err();
                let expected = format!("`{}` is not text in UTF-8", directory.path().join(bad).display());
                assert_eq!(error.to_string(), expected, "{what}");
            }
        }
    }
}

#[test]
fn what_is_more_than_anybody_means_is_refused() {
    let large = directory(&[]);
    write(large.path(), "a.yaml", &"x".repeat(LARGEST_FILE + 1));
    assert!(matches!(read(large.path()), Err(ReadError::LargeFile { .. })));
    let heavy = directory(&[]);
    for number in 0..=LARGEST_LOAD / LARGEST_FILE {
        write(heavy.path(), &format!("{number}.yaml"), &"x".repeat(LARGEST_FILE));
    }
    assert!(matches!(read(heavy.path()), Err(ReadError::LargeLoad)));
    let many = directory(&[]);
    for number in 0..=MOST_FILES {
        write(many.path(), &format!("{number}.yaml"), "");
    }
    assert!(matches!(read(many.path()), Err(ReadError::TooManyFiles)));
}

#[test]
fn an_empty_directory_has_no_policies() {
    assert_eq!(read(directory(&[]).path()).unwrap(), []);
}
