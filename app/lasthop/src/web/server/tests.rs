use std::time::{Duration, Instant};

use hyper::Method;
use hyper::body::Body;
use hyper::http::request::Builder;

use super::*;
use crate::web::page::FILES;
use crate::web::poll::{Answer, Recorder};

const GATEWAY: &str = include_str!("../../status/gateway.json");

fn service(shared: Shared) -> Service {
    Service {
        shared,
        names: Names::of("10.73.0.1".parse().unwrap()),
        scrapes: Arc::new(Semaphore::new(1)),
    }
}

fn get(path: &str) -> Builder {
    Request::get(path).header(header::HOST, "localhost:9530")
}

/// Returns status and text of the answer.
fn answer(request: Builder) -> (StatusCode, String) {
    let service = service(Recorder::new().shared());
    let mut response = service.answer(&request.body(()).unwrap());
    let text = next(response.body_mut()).unwrap_or_default();
    (response.status(), text)
}

/// Returns the next part of a body that is ready; `None` if there is none now.
fn next(body: &mut Content) -> Option<String> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::Pin::new(body).poll_frame(&mut context) {
        std::task::Poll::Ready(Some(Ok(frame))) => {
            Some(String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap())
        }
        _ => None,
    }
}

fn refusal(request: Builder) -> (u16, String) {
    let (status, text) = answer(request);
    assert!(text.ends_with(".\n"), "no sentence: {text}");
    (status.as_u16(), text)
}

#[test]
fn the_page_and_its_files_are_small_and_guarded() {
    for file in &FILES {
        let service = service(Recorder::new().shared());
        let response = service.answer(&get(file.path).body(()).unwrap());
        assert_eq!(response.status(), 200);
        let headers = response.headers();
        assert_eq!(headers[header::CONTENT_TYPE], file.media_type);
        let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"));
        assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert!(!headers.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN));
        for elsewhere in ["http://", "https://", "url(", "@import"] {
            let text = file.text.replace("http://www.w3.org/2000/svg", "");
            assert!(!text.contains(elsewhere), "{} loads {elsewhere}", file.path);
        }
    }
    let bytes: usize = FILES.iter().map(|file| file.text.len()).sum();
    assert!(bytes < 100_000, "the page has {bytes} bytes");
}

#[test]
fn a_foreign_name_is_refused() {
    let with = |host: &str| Request::get("/").header(header::HOST, host);
    for own in [
        "localhost",
        "LOCALHOST:8080",
        "127.0.0.1:9530",
        "[::1]:9530",
        "10.73.0.1:9530",
    ] {
        assert_eq!(answer(with(own)).0, 200, "{own}");
    }
    for foreign in [
        "evil.example",
        "evil.example:9530",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "192.0.2.1",
        "user@localhost",
        "",
        "::1",
    ] {
        let (status, text) = refusal(with(foreign));
        assert_eq!(status, 400, "{foreign}");
        assert!(text.contains("call it localhost or 10.73.0.1"), "{text}");
    }
    assert_eq!(refusal(Request::get("/")).0, 400);
    assert_eq!(refusal(get("/").header(header::HOST, "localhost")).0, 400);
    assert_eq!(refusal(get("http://evil.example/")).0, 400);
}

#[test]
fn only_what_exists_is_shown_and_nothing_is_changed() {
    for method in [
        Method::POST,
        Method::PUT,
        Method::DELETE,
        Method::OPTIONS,
        Method::CONNECT,
    ] {
        let (status, text) = refusal(get("/").method(method));
        assert_eq!(status, 405);
        assert!(text.contains("GET or HEAD"));
    }
    let allowed =
        service(Recorder::new().shared()).answer(&get("/").method("POST").body(()).unwrap());
    assert_eq!(allowed.headers()[header::ALLOW], "GET, HEAD");
    assert_eq!(answer(get("/metrics").method(Method::HEAD)).0, 200);
    for path in [
        "/favicon.ico",
        "/etc/passwd",
        "/../page.js",
        "/page.js/",
        "//",
        "/metrics/x",
    ] {
        let (status, text) = refusal(get(path));
        assert_eq!(status, 404, "{path}");
        assert!(text.contains("/metrics"), "{text}");
    }
    let long = format!("/{}", "a".repeat(5_000));
    assert!(refusal(get(&long)).1.len() < 200);
}

#[test]
fn a_wrong_question_for_events_gets_the_reason() {
    for (query, part) in [
        ("from=x", "'from' is 'x'"),
        ("from=-1", "'from' is '-1'"),
        ("find=%zz", "'find' is text"),
        ("find=%ff", "'find' is text"),
        ("find=%4", "'find' is text"),
        (
            "verdict=none",
            "There is no verdict 'none'; known: application, air,",
        ),
        ("peers=all", "no parameter 'peers'"),
    ] {
        let (status, text) = refusal(get(&format!("/events?{query}")));
        assert_eq!(status, 400, "{query}");
        assert!(text.contains(part), "{text}");
    }
    let long = format!("/events?find={}", "a".repeat(65));
    assert_eq!(refusal(get(&long)).0, 400);
}

/// A recorder that has this status, and further events of a client with this query.
fn watching(recorder: &Recorder, query: &str) -> Response<Content> {
    let service = service(recorder.shared());
    service.answer(&get(&format!("/events?{query}")).body(()).unwrap())
}

fn record(recorder: &Recorder, status: &serde_json::Value) {
    recorder.record(Answer::read(Ok(status.to_string()), Duration::ZERO, None));
}

fn event(body: &mut Content) -> Option<serde_json::Value> {
    let text = next(body)?;
    let (_, json) = text.split_once("data: ").unwrap();
    assert!(json.ends_with("\n\n") && json.matches('\n').count() == 2);
    Some(serde_json::from_str(json).unwrap())
}

#[test]
fn events_have_what_came_since_the_one_before_and_never_pile_up() {
    let recorder = Recorder::new();
    let mut response = watching(&recorder, "");
    assert_eq!(response.headers()[header::CONTENT_TYPE], events::MEDIA_TYPE);
    let body = response.body_mut();
    let first = event(body).unwrap();
    assert_eq!(first["daemon"]["reason"], "the daemon was not asked yet");
    assert_eq!(first["is_first"], true);
    assert_eq!(event(body), None);
    let mut status: serde_json::Value = serde_json::from_str(GATEWAY).unwrap();
    record(&recorder, &status);
    let second = event(body).unwrap();
    assert_eq!(second["peers"][0]["samples"], serde_json::json!([null]));
    assert_eq!(second["is_first"], false);
    assert_eq!(second["counts"]["connected"], 2);
    assert_eq!(second["counts"]["verdicts"]["queue-on-the-way"], 1);
    assert_eq!(second["peers"][1]["verdict"], "queue-on-the-way");
    // The client is slow: three answers come before it reads.
    for _ in 0..3 {
        let bytes = &mut status["host"]["peers"][0]["hop"]["stats"]["sent"]["bytes_delivered"];
        *bytes = (bytes.as_u64().unwrap() + 1_000).into();
        record(&recorder, &status);
    }
    let third = event(body).unwrap();
    assert_eq!(third["times_s"].as_array().unwrap().len(), 3);
    assert_eq!(third["peers"][0]["samples"].as_array().unwrap().len(), 3);
    assert_eq!(event(body), None);
    // A client that comes later gets all.
    let whole = event(watching(&recorder, "").body_mut()).unwrap();
    assert_eq!(whole["times_s"].as_array().unwrap().len(), 4);
}

#[test]
fn a_window_has_the_peers_that_were_asked_for() {
    let recorder = Recorder::new();
    let mut status: serde_json::Value = serde_json::from_str(GATEWAY).unwrap();
    let one = status["host"]["peers"][0].clone();
    let peers = (0..60).map(|number| {
        let mut peer = one.clone();
        peer["name"] = format!("Mobile {number:02}").into();
        if number == 7 {
            peer["limit"]["by"] = "air".into();
            peer["keys_age"] = serde_json::Value::Null;
        }
        peer
    });
    status["host"]["peers"] = peers.collect();
    record(&recorder, &status);
    let shown = |query: &str| {
        let event = event(watching(&recorder, query).body_mut()).unwrap();
        let names = event["peers"].as_array().unwrap().iter();
        let names: Vec<_> = names
            .map(|peer| peer["name"].as_str().unwrap().to_owned())
            .collect();
        (names, event["counts"].clone())
    };
    let (names, counts) = shown("");
    assert_eq!((names.len(), &*names[23]), (24, "Mobile 23"));
    assert_eq!(
        (&counts["all"], &counts["connected"]),
        (&60.into(), &59.into())
    );
    assert_eq!(shown("from=48").0.len(), 12);
    // Beyond the end is the last part.
    assert_eq!(shown("from=4000").0[0], "Mobile 48");
    assert_eq!(shown("find=mobile+1").0.len(), 10);
    assert_eq!(shown("find=MOBILE%2059").0, ["Mobile 59"]);
    let (names, counts) = shown("verdict=air");
    assert_eq!(
        (names, &counts["matching"]),
        (vec!["Mobile 07".into()], &1.into())
    );
    assert_eq!(shown("find=nobody").0.len(), 0);
}

#[test]
fn metrics_are_fetched_by_few_at_a_time() {
    let service = service(Recorder::new().shared());
    let request = get("/metrics").body(()).unwrap();
    let first = service.answer(&request);
    assert_eq!(first.status(), 200);
    let second = service.answer(&request);
    assert_eq!(second.status(), 503);
    drop(first);
    assert_eq!(service.answer(&request).status(), 200);
}

#[test]
fn a_client_that_does_not_read_is_given_up() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        use tokio::io::AsyncWrite;
        let (near, _far) = tokio::net::UnixStream::pair().unwrap();
        let mut patient = Patient::with(near, Duration::from_millis(20));
        let began = Instant::now();
        let write = std::future::poll_fn(|context| {
            loop {
                let written = std::pin::Pin::new(&mut patient).poll_write(context, &[0; 4096]);
                match std::task::ready!(written) {
                    Ok(_) => {}
                    Err(error) => return std::task::Poll::Ready(error),
                }
            }
        });
        assert_eq!(write.await.kind(), std::io::ErrorKind::TimedOut);
        assert!(began.elapsed() >= Duration::from_millis(20));
    });
}

#[test]
fn the_answer_to_one_too_many_is_whole() {
    let text = std::str::from_utf8(FULL).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(
        head.contains(&format!("Content-Length: {}\r\n", body.len())),
        "{head}"
    );
}
