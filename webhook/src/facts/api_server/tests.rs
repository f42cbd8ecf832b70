use butler_policies::facts::{Fact, FactKey};
use butler_policies::review::Caller;
use kube::{Client, Config};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tracing::level_filters::LevelFilter;

use super::super::{Look, Metrics};
use super::ApiServer;
use crate::log::Kept;

/// Answers whatever is asked with that object.
async fn client_of(object: &'static str) -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
            let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{object}", object.len());
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    Client::try_from(Config::new(format!("http://{address}").parse().unwrap())).unwrap()
}

#[tokio::test]
async fn an_object_that_cannot_be_read_is_not_logged() {
    let kept = Kept::default();
    let writer = kept.clone();
    // Without the filter of the programs: this has to hold by itself.
    let log = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::INFO)
        .with_writer(move || writer.clone())
        .finish();
    let _logging = tracing::subscriber::set_default(log);
    let caller = Caller { name: "ana@example.org".into(), ..Caller::default() };
    let objects = [
        r#"{"apiVersion":"butler.butlerlabs.dev/v1alpha1","kind":"Team","metadata":{"name":"payments"},"spec":"hunter2"}"#,
        r#"{"metadata":{"name":"payments"},"spec":{"displayName":{"password":"hunter2"}}}"#,
    ];
    for object in objects {
        let server = ApiServer::new(client_of(object).await, Metrics::default());
        let fact = server.look(&FactKey::Team("payments".to_owned()), &caller).await;
        assert!(matches!(fact, Fact::Unreadable), "{object}");
    }
    let text = kept.text();
    assert!(text.contains("a fact cannot be read"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
}
