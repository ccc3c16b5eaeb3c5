//! What is measured in process.

use std::pin::Pin;
use std::task::{Context, Poll};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use serde_json::json;

use super::Size;
use super::object::{OBJECTS, config_map, name, status_of, widget};
use super::subject::{APPLY, JSON, MERGE, Subject, With, on_one_thread};
use crate::meter::{cpu_time, resident_bytes};

/// Objects that writes of a status go round.
pub const ROUND: usize = 1000;
const WATCHERS: usize = 100;

/// The requests are made before the clock runs; only the server works while it does.
async fn per_second(subject: &Subject, requests: Vec<http::Request<Full<Bytes>>>) -> Result<f64> {
    let count = requests.len();
    let begin = cpu_time();
    let answers = async move {
        for request in requests {
            subject.ask(request).await?;
        }
        anyhow::Ok(())
    };
    Counted(Box::pin(answers)).await?;
    Ok(count as f64 / (cpu_time() - begin).as_secs_f64())
}

/// What callgrind counts the instructions of, by the name of this type.
struct Counted<F>(Pin<Box<F>>);

impl<F: Future> Future for Counted<F> {
    type Output = F::Output;

    #[inline(never)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.0.as_mut().poll(context)
    }
}

fn create(size: Size, with: With) -> Result<f64> {
    on_one_thread(async {
        let subject = Subject::start(with).await?;
        let request = |number| subject.request("POST", OBJECTS, JSON, widget(number).to_string().into());
        let requests = (0..size.writes).map(request).collect::<Result<_>>()?;
        per_second(&subject, requests).await
    })
}

pub fn creates(size: Size) -> Result<f64> {
    create(size, With::Nothing)
}

pub fn creates_with_cel(size: Size) -> Result<f64> {
    create(size, With::Cel)
}

pub fn creates_with_webhooks(size: Size) -> Result<f64> {
    create(size, With::Webhooks)
}

fn merge(size: Size, with: With) -> Result<f64> {
    on_one_thread(async {
        let subject = Subject::filled(with, ROUND.min(size.writes)).await?;
        let request = |number: usize| {
            let path = format!("{OBJECTS}/{}/status", name(number % ROUND));
            subject.request("PATCH", &path, MERGE, json!({"status": status_of(number)}).to_string().into())
        };
        let requests = (0..size.writes).map(request).collect::<Result<_>>()?;
        per_second(&subject, requests).await
    })
}

pub fn merges(size: Size) -> Result<f64> {
    merge(size, With::Nothing)
}

pub fn merges_with_cel(size: Size) -> Result<f64> {
    merge(size, With::Cel)
}

pub fn merges_with_webhooks(size: Size) -> Result<f64> {
    merge(size, With::Webhooks)
}

fn apply(size: Size, with: With) -> Result<f64> {
    on_one_thread(async {
        let subject = Subject::filled(with, ROUND.min(size.writes)).await?;
        let request = |number: usize| {
            let name = name(number % ROUND);
            let path = format!("{OBJECTS}/{name}/status?fieldManager=bench&force=true");
            let body = json!({
                "apiVersion": "bench.example.com/v1", "kind": "Widget",
                "metadata": {"name": name, "namespace": "default"}, "status": status_of(number),
            });
            subject.request("PATCH", &path, APPLY, body.to_string().into())
        };
        let requests = (0..size.writes).map(request).collect::<Result<_>>()?;
        per_second(&subject, requests).await
    })
}

pub fn applies(size: Size) -> Result<f64> {
    apply(size, With::Nothing)
}

pub fn applies_with_cel(size: Size) -> Result<f64> {
    apply(size, With::Cel)
}

pub fn gets(size: Size) -> Result<f64> {
    on_one_thread(async {
        let subject = Subject::filled(With::Nothing, ROUND.min(size.writes)).await?;
        let request =
            |number: usize| subject.request("GET", &format!("{OBJECTS}/{}", name(number % ROUND)), JSON, Bytes::new());
        let requests = (0..size.writes).map(request).collect::<Result<_>>()?;
        per_second(&subject, requests).await
    })
}

/// From a write that is done to the last watcher that has read its event, in milliseconds.
pub fn watch_fan_out(size: Size) -> Result<f64> {
    on_one_thread(async {
        let subject = Subject::filled(With::Nothing, 1).await?;
        let mut watches = Vec::new();
        for _ in 0..WATCHERS {
            let mut watch = subject.open(&format!("{OBJECTS}?watch=1")).await?.into_body();
            watch.frame().await.context("a watch begins with what exists")??;
            watches.push(watch);
        }
        let mut spent = Vec::new();
        for round in 0..size.writes / WATCHERS {
            let path = format!("{OBJECTS}/{}/status", name(0));
            subject.must("PATCH", &path, MERGE, &json!({"status": status_of(round)})).await?;
            let begin = cpu_time();
            for watch in &mut watches {
                watch.frame().await.context("a watch goes on")??;
            }
            spent.push((cpu_time() - begin).as_secs_f64() * 1e3);
        }
        Ok(median(spent))
    })
}

pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

/// Memory of the whole process with so many objects in the store, in megabytes.
pub fn memory(size: Size) -> Result<f64> {
    on_one_thread(async {
        let subject = Subject::start(With::Nothing).await?;
        for number in 0..size.objects {
            subject.must("POST", "/api/v1/namespaces/default/configmaps", JSON, &config_map(number)).await?;
        }
        Ok(resident_bytes() as f64 / 1e6)
    })
}
