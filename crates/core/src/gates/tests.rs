use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

/// Applies a flag at a version and shows what differs from the defaults there, or the refusal.
fn check(version: &str, flag: &str, expected: &Expect) {
    let version = Version::parse(version).unwrap();
    let result = parse_flag(flag).and_then(|settings| Gates::from_settings(version, &settings));
    let text = match result {
        Ok(gates) => {
            let defaults = Gates::for_version(version);
            let changed = Gate::ALL.iter().filter(|gate| gates.enabled(**gate) != defaults.enabled(**gate));
            changed.map(|gate| format!("{gate}={}\n", gates.enabled(*gate))).collect()
        }
        Err(errors) => format!("{errors}\n"),
    };
    expected.assert_eq(&text);
}

#[test]
fn the_table_is_alphabetical_and_complete() {
    assert_eq!(Gate::ALL.len(), 80);
    assert!(Gate::ALL.is_sorted_by(|one, next| one.name() < next.name()));
    for gate in Gate::ALL {
        assert_eq!(Gate::named(gate.name()), Some(*gate));
        assert!(gate.doc().ends_with('.'), "{gate}");
    }
}

/// The rules a Kubernetes component has for its own table.
#[test]
fn histories_only_move_forward() {
    for gate in Gate::ALL {
        for pair in gate.history().windows(2) {
            let (before, after) = (pair[0], pair[1]);
            assert!(before.since < after.since, "{gate}: versions increase");
            assert!(before.stage <= after.stage, "{gate}: a stage is never taken back");
            assert!(after.is_locked || !before.is_locked, "{gate}: a lock stays");
            assert_ne!(
                (before.stage, before.default),
                (after.stage, after.default),
                "{gate}: a step changes something"
            );
        }
        assert!(gate.history().iter().all(|step| step.since <= Version::CURRENT), "{gate}");
    }
}

#[test]
fn no_gate_is_ahead_of_what_it_needs() {
    for gate in Gate::ALL {
        assert!(gate.depends_on().is_sorted(), "{gate}");
        for (needed, step) in
            gate.depends_on().iter().flat_map(|needed| gate.history().iter().map(move |s| (needed, s)))
        {
            let needed = needed.at(step.since).unwrap_or_else(|| panic!("{gate} before {needed}"));
            assert!(needed.default || !step.default, "{gate} is on before what it needs");
            assert!(needed.stage >= step.stage || step.stage == Stage::Deprecated, "{gate}");
        }
    }
}

#[test]
fn defaults_follow_the_version() {
    let on_at = |version: &str| {
        let gates = Gates::for_version(Version::parse(version).unwrap());
        Gate::ALL.iter().filter(|gate| gates.enabled(**gate)).count()
    };
    let counts: Vec<usize> = ["0.0", "0.4", "0.5", "0.9", "0.16", "0.20", "1.36"].map(on_at).to_vec();
    expect!["[0, 0, 2, 5, 15, 59, 59]"].assert_eq(&format!("{counts:?}"));
    assert_eq!(Gates::default(), Gates::for_version(Version::CURRENT));
    assert_eq!(Gate::PartialAdmission.at(Version { major: 0, minor: 3 }), None);
}

#[test]
fn settings_change_only_what_they_name() {
    check("0.20", "", &expect![""]);
    check(
        "0.20",
        "PartialAdmission=false, PriorityBoost = T ,",
        &expect![[r#"
        PartialAdmission=false
        PriorityBoost=true
    "#]],
    );
    check("0.20", "PriorityBoost=true,PriorityBoost=0", &expect![""]);
    check("0.20", "TLSOptions=true", &expect![""]);
}

#[test]
fn a_named_gate_wins_over_its_group_wherever_it_stands() {
    check(
        "0.17",
        "PriorityBoost=false,AllAlpha=true",
        &expect![[r#"
        AdmissionGatedBy=true
        CustomMetricLabels=true
        ElasticJobsViaWorkloadSlices=true
        ElasticJobsViaWorkloadSlicesWithTAS=true
        FailureRecoveryPolicy=true
        FastQuotaReleaseInPodIntegration=true
        MultiKueueClusterProfile=true
        MultiKueueOrchestratedPreemption=true
        ShortWorkloadNames=true
        SparkApplicationIntegration=true
        TASBalancedPlacement=true
        TASMultiLayerTopology=true
        WorkloadRequestUseMergePatch=true
    "#]],
    );
    check(
        "0.5",
        "AllBeta=false,PartialAdmission=true",
        &expect![[r#"
        FlavorFungibility=false
    "#]],
    );
    check(
        "0.20",
        "AllBeta=true",
        &expect![[r#"
        UnadmittedWorkloadsExplicitStatus=true
    "#]],
    );
}

#[test]
fn a_gate_cannot_be_set_before_it_was_introduced() {
    check(
        "0.16",
        "PriorityBoost=false",
        &expect![[r#"
        cannot set feature gate PriorityBoost to false, feature is PreAlpha at emulated version 0.16, min compatibility version 0.15
    "#]],
    );
}

#[test]
fn every_refusal_is_reported_in_kubernetes_words() {
    check(
        "0.20",
        "A,B=maybe",
        &expect![[r#"
        [missing bool value for A, invalid value of B=maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax]
    "#]],
    );
    check(
        "0.20",
        "Nope=true,TLSOptions=false",
        &expect![[r#"
        [unrecognized feature gate: Nope, cannot set feature gate TLSOptions to false, feature is locked to true]
    "#]],
    );
    check(
        "0.19",
        "TLSOptions=false",
        &expect![[r#"
        TLSOptions=false
    "#]],
    );
    check(
        "0.20",
        "FlavorFungibility=false,TASFailedNodeReplacement=false,TASReplaceNodeOnPodTermination=false",
        &expect![[r#"
        [FlavorFungibilityPreserveScanProgress is enabled, but depends on features that are disabled: [FlavorFungibility], TASFailedNodeReplacementFailFast is enabled, but depends on features that are disabled: [TASFailedNodeReplacement]]
    "#]],
    );
    check(
        "0.14",
        "TopologyAwareScheduling=false,TASFailedNodeReplacement=false,TASReplaceNodeOnPodTermination=false",
        &expect![[r#"
            TASFailedNodeReplacementFailFast is enabled, but depends on features that are disabled: [TASFailedNodeReplacement TopologyAwareScheduling]
        "#]],
    );
}

#[test]
fn switching_a_gate_takes_along_what_hangs_on_it() {
    let none = Gates(0);
    let one = none.with(Gate::TASFailedNodeReplacementFailFast, true);
    assert!(one.enabled(Gate::TASFailedNodeReplacement) && one.enabled(Gate::TopologyAwareScheduling));
    let off = one.with(Gate::TopologyAwareScheduling, false);
    assert_eq!(off, none);
    let named = Gates::default().with_all([(Gate::TopologyAwareScheduling, false), (Gate::TASProfileMixed, true)]);
    assert!(named.enabled(Gate::TASProfileMixed) && !named.enabled(Gate::TopologyAwareScheduling));
    assert!(!named.enabled(Gate::TASBalancedPlacement) && named.enabled(Gate::PartialAdmission));
}

#[test]
fn gates_show_what_differs_from_the_defaults() {
    assert_eq!(format!("{:?}", Gates::default().with(Gate::PriorityBoost, true)), "{PriorityBoost: true}");
}

#[test]
fn versions_are_two_numbers() {
    for text in ["0.20", "1.36", "12.0"] {
        assert_eq!(Version::parse(text).unwrap().to_string(), text);
    }
    for text in ["", ".", "1", "1.", ".1", "1.2.3", "1.x", "v1.2", "1.99999", "-1.2"] {
        assert_eq!(Version::parse(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn no_flag_makes_reading_panic(flag in "((AllAlpha|AllBeta|PriorityBoost|TLSOptions|\\PC{0,5})=?(true|false|\\PC{0,3}),?){0,5}") {
        if let Ok(settings) = parse_flag(&flag) {
            let _ = Gates::from_settings(Version::CURRENT, &settings).map_err(|errors| errors.to_string());
        }
    }

    #[test]
    fn accepted_settings_respect_every_dependency(on in proptest::collection::btree_map(0..Gate::ALL.len(), any::<bool>(), 0..6)) {
        let settings: BTreeMap<String, bool> = on.iter().map(|(at, on)| (Gate::ALL[*at].to_string(), *on)).collect();
        if let Ok(gates) = Gates::from_settings(Version::CURRENT, &settings) {
            for gate in Gate::ALL.iter().filter(|gate| gates.enabled(**gate)) {
                prop_assert!(gate.depends_on().iter().all(|needed| gates.enabled(*needed)));
            }
            prop_assert!(settings.iter().all(|(name, on)| gates.enabled(Gate::named(name).unwrap()) == *on));
        }
    }
}
