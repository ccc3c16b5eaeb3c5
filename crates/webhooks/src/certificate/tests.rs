use super::*;

const NAME: &str = "kueue-webhook-service.kueue-system.svc";

fn time(text: &str) -> Time {
    text.parse().unwrap()
}

#[test]
fn a_certificate_is_believed_until_shortly_before_its_end() {
    let made = Material::make(NAME, None, time("2026-01-31T00:00:00Z")).unwrap();
    for (now, expected) in [
        ("2026-01-31T00:00:00Z", true),
        ("2026-10-01T00:00:00Z", true),
        ("2026-11-10T00:00:00Z", false),
        ("2030-01-01T00:00:00Z", false),
    ] {
        assert_eq!(made.is_good_for(NAME, time(now)), expected, "{now}");
    }
    assert!(!made.is_good_for("other.kueue-system.svc", time("2026-02-01T00:00:00Z")));
}

#[test]
fn the_authority_before_is_trusted_a_while_longer_and_no_other() {
    let now = time("2026-02-28T00:00:00Z");
    let mut made = Material::make(NAME, None, now).unwrap();
    let first = made.clone();
    for _ in 0..3 {
        let before = made;
        made = Material::make(NAME, Some(&before), now).unwrap();
        let shown_by_others = Material { authorities: made.authorities.clone(), ..before };
        assert!(shown_by_others.is_good_for(NAME, now));
    }
    let outdated = Material { authorities: made.authorities.clone(), ..first };
    assert!(!outdated.is_good_for(NAME, now));
    assert_eq!(made.authorities.matches("BEGIN CERTIFICATE").count(), 2);
}

#[test]
fn a_secret_holds_it_all_or_nothing() {
    let made = Material::make(NAME, None, time("2026-01-01T00:00:00Z")).unwrap();
    let mut data = made.to_data();
    assert_eq!(Material::from_data(&data), Some(made));
    data.remove(KEY);
    assert_eq!(Material::from_data(&data), None);
    let nonsense: BTreeMap<String, String> = data.keys().map(|key| (key.clone(), "bm8=".to_owned())).collect();
    assert_eq!(Material::from_data(&nonsense), None);
    let nonsense = Material {
        authorities: String::new(),
        authority_key: String::new(),
        certificate: "x".to_owned(),
        key: String::new(),
    };
    assert!(!nonsense.is_good_for(NAME, time("2026-01-01T00:00:00Z")));
}
