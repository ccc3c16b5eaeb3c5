//! Groups of pod sets: they get the same flavors, or none.

use expect_test::expect;

use super::story::check;

#[test]
fn pod_sets_of_a_group_share_one_flavor_that_has_room_for_all_of_them() {
    let queue = "queue a cpu=5 spare=10\n";
    check(
        &format!(
            "{queue}
             job apart cpu=2 count=2 and=2
             cycle
             uses a"
        ),
        &expect![[r#"
            cycle
              apart QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s; Flavors considered: more: f(NoFit;insufficient quota for cpu in flavor f, previously considered podsets requests (4) + current podset request (4) > maximum capacity (5))
              apart Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              a uses f=4000 g=4000
        "#]],
    );
    check(
        &format!(
            "{queue}
             job together cpu=2 count=2 and=2 group=g
             cycle
             uses a"
        ),
        &expect![[r#"
            cycle
              together QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s; Flavors considered: main: f(NoFit;insufficient quota for cpu in flavor f, previously considered podsets requests (0) + current podset request (8) > maximum capacity (5)) | more: f(NoFit;insufficient quota for cpu in flavor f, previously considered podsets requests (0) + current podset request (8) > maximum capacity (5))
              together Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              a uses g=8000
        "#]],
    );
}

#[test]
fn a_group_that_fits_nowhere_says_so_for_each_of_its_pod_sets() {
    check(
        "queue a cpu=5 spare=5
         job wide cpu=2 count=2 and=2 group=g
         cycle",
        &expect![[r#"
            cycle
              wide ExceedsMaxQuota couldn't assign flavors to pod set main: insufficient quota for cpu in flavor f, previously considered podsets requests (0) + current podset request (8) > maximum capacity (5), insufficient quota for cpu in flavor g, previously considered podsets requests (0) + current podset request (8) > maximum capacity (5); couldn't assign flavors to pod set more: insufficient quota for cpu in flavor f, previously considered podsets requests (0) + current podset request (8) > maximum capacity (5), insufficient quota for cpu in flavor g, previously considered podsets requests (0) + current podset request (8) > maximum capacity (5)
            a: parked wide
        "#]],
    );
}
