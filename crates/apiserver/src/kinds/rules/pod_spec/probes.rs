//! Probes and lifecycle hooks: one handler each, and sensible numbers.

use kueue_core::field::{Error, Errors};
use kueue_core::name::pattern_message;

use super::super::check::Field;

/// Signals by which a container may be stopped; the real-time ones are made from their bounds.
const SIGNALS: [&str; 36] = [
    "SIGABRT",
    "SIGALRM",
    "SIGBUS",
    "SIGCHLD",
    "SIGCLD",
    "SIGCONT",
    "SIGFPE",
    "SIGHUP",
    "SIGILL",
    "SIGINT",
    "SIGIO",
    "SIGIOT",
    "SIGKILL",
    "SIGPIPE",
    "SIGPOLL",
    "SIGPROF",
    "SIGPWR",
    "SIGQUIT",
    "SIGSEGV",
    "SIGSTKFLT",
    "SIGSTOP",
    "SIGSYS",
    "SIGTERM",
    "SIGTRAP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGUSR1",
    "SIGUSR2",
    "SIGVTALRM",
    "SIGWINCH",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGRTMIN",
    "SIGRTMAX",
];

/// Hooks and probes of a container that runs as long as its pod.
pub fn check_lifecycle(container: &Field<'_>, spec: &Field<'_>, errors: &mut Errors) {
    let grace = spec.child("terminationGracePeriodSeconds");
    let lifecycle = container.child("lifecycle");
    for hook in ["postStart", "preStop"] {
        if lifecycle.child(hook).is_set() {
            check_handler(&lifecycle.child(hook), &["exec", "httpGet", "tcpSocket", "sleep"], &grace, errors);
        }
    }
    if lifecycle.child("stopSignal").is_set() {
        check_signal(&lifecycle.child("stopSignal"), spec.child("os.name").text(), errors);
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let probe = container.child(name);
        if !probe.is_set() {
            continue;
        }
        check_probe(&probe, &grace, errors);
        if name == "readinessProbe" {
            let own = probe.child("terminationGracePeriodSeconds");
            if own.is_set() {
                errors.push(own.invalid("must not be set for readinessProbes"));
            }
        } else if probe.child("successThreshold").number() != 1 {
            errors.push(probe.child("successThreshold").invalid("must be 1"));
        }
    }
}

fn check_probe(probe: &Field<'_>, grace: &Field<'_>, errors: &mut Errors) {
    check_handler(probe, &["exec", "httpGet", "tcpSocket", "grpc"], grace, errors);
    for number in ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"] {
        probe.child(number).not_negative(errors);
    }
    let own = probe.child("terminationGracePeriodSeconds");
    if own.is_set() && own.number() <= 0 {
        errors.push(own.invalid("must be greater than 0"));
    }
}

fn check_handler(handler: &Field<'_>, sorts: &[&str], grace: &Field<'_>, errors: &mut Errors) {
    let mut given = sorts.iter().map(|sort| (*sort, handler.child(sort))).filter(|(_, action)| action.is_set());
    match given.next() {
        None => errors.push(handler.required("must specify a handler type")),
        Some((sort, action)) => check_action(sort, &action, grace, errors),
    }
    for (_, action) in given {
        errors.push(action.forbidden("may not specify more than 1 handler type"));
    }
}

fn check_action(sort: &str, action: &Field<'_>, grace: &Field<'_>, errors: &mut Errors) {
    match sort {
        "exec" => {
            action.child("command").needs(errors);
        }
        "httpGet" => {
            action.child("path").needs(errors);
            action.child("port").port(errors);
            if !["HTTP", "HTTPS"].contains(&action.child("scheme").text()) {
                let scheme = action.child("scheme");
                errors.push(Error::not_supported(&scheme.path, scheme.text(), &["HTTP", "HTTPS"]));
            }
            for header in action.child("httpHeaders").items() {
                let name = header.child("name").text();
                let why = header_name(name).map(|why| Error::invalid(&action.child("httpHeaders").path, name, why));
                errors.extend(why);
            }
        }
        "sleep" => {
            let seconds = action.child("seconds").number();
            let max = grace.number();
            if grace.is_set() && !(0..=max).contains(&seconds) {
                let why = format!("must be non-negative and less than terminationGracePeriodSeconds ({max})");
                errors.push(Error::invalid(&action.path, seconds, why));
            }
        }
        _ => action.child("port").port(errors),
    }
}

fn header_name(name: &str) -> Option<String> {
    let is_fine = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let rule = "a valid HTTP header must consist of alphanumeric characters or '-'";
    (!is_fine).then(|| pattern_message(rule, "[-A-Za-z0-9]+", &["X-Header-Name"]))
}

fn check_signal(signal: &Field<'_>, system: &str, errors: &mut Errors) {
    let is_real_time = |name: &str| {
        let number = |prefix: &str| name.strip_prefix(prefix).and_then(|rest| rest.parse::<u8>().ok());
        number("SIGRTMIN+").is_some_and(|n| (1..=15).contains(&n))
            || number("SIGRTMAX-").is_some_and(|n| (1..=14).contains(&n))
    };
    match system {
        "" => errors.push(signal.forbidden("may not be set for containers with empty `spec.os.name`")),
        "windows" => signal.one_of(&["SIGKILL", "SIGTERM"], errors),
        _ if is_real_time(signal.text()) => {}
        _ => signal.one_of(&SIGNALS, errors),
    }
}
