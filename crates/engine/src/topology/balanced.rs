//! Balanced placement: the same number of slices, or nearly, in every domain that is used.
//!
//! Looks for domains below one common parent. What the emptiest of them must take at least is the threshold; the
//! highest one wins. Whenever something does not come out, the usual search takes over.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::census::{Count, Shape};
use super::spread::{Field, Measure, Share};
use super::tree::DomainId;

/// What taking the widest domains first would come to.
struct Greedy {
    used: i32,
    last: Option<DomainId>,
    last_led: Option<DomainId>,
}

struct Candidate {
    threshold: i32,
    used: i32,
    domains: Vec<DomainId>,
    counts: Vec<Count>,
}

pub(super) fn find(field: &Field<'_>, shape: &Shape) -> Option<Vec<Share>> {
    // Groups within slices are left out of the account here, as in Kueue.
    let shape = Shape { inner: Vec::new(), ..shape.clone() };
    let best = best_candidate(field, &shape)?;
    let field = Field { counts: &best.counts, ..*field };
    let terms = field.terms;
    let (domains, level) = if terms.level < terms.slice_level {
        let chosen = field.fewest(&best.domains, true)?;
        (field.children(&chosen), terms.level + 1)
    } else {
        (best.domains, terms.level)
    };
    let chosen = field.level_out(&domains, best.threshold)?;
    let mut counts = best.counts.clone();
    for (domain, slices, leaders) in &chosen {
        counts[domain.index()] = given(*slices, *leaders, terms.slice_size);
    }
    let field = Field { counts: &counts, ..field };
    let domains = chosen.into_iter().map(|(domain, _, _)| domain).collect();
    let shares = field.spread(domains, Measure::Slices(terms.slice_size), field.count, field.leaders)?;
    field.descend(shares, level)
}

/// What a domain has room for when that is all it is to get.
pub(super) fn given(slices: i32, leaders: i32, slice_size: i32) -> Count {
    let pods = slices * slice_size;
    Count { pods, pods_led: pods - leaders, slices, slices_led: slices, leaders, taste: 0 }
}

/// The best threshold, and among how many siblings it can be kept.
#[cfg(feature = "by-hand")]
pub(super) fn best_threshold(field: &Field<'_>, shape: &Shape) -> Option<(i32, usize)> {
    best_candidate(field, shape).map(|best| (best.threshold, best.domains.len()))
}

/// The siblings among which the slices can be spread most evenly.
fn best_candidate(field: &Field<'_>, shape: &Shape) -> Option<Candidate> {
    let level = field.terms.level;
    let sets: Vec<Vec<DomainId>> = match level.checked_sub(1) {
        None => vec![field.tree.at_level(0)],
        Some(above) => {
            field.tree.at_level(above).iter().map(|domain| field.tree.domain(*domain).children().to_vec()).collect()
        }
    };
    let mut best: Option<Candidate> = None;
    for domains in sets {
        let floor = best.as_ref().map_or(0, |best| best.threshold);
        let fresh = *field;
        let lower = if level < field.terms.slice_level { fresh.children(&domains) } else { domains.clone() };
        let Some(greedy) = fresh.greedy(&lower) else { continue };
        let threshold = fresh.threshold(&greedy);
        if threshold < floor {
            continue;
        }
        // A lower one may keep room for the leader where the first does not.
        let with_leader = match greedy.last {
            Some(last) if field.leaders > 0 => threshold.min(fresh.count_of(last).slices_led),
            _ => threshold,
        };
        let attempts = [threshold, with_leader];
        let attempts = if with_leader < threshold && with_leader > 0 && with_leader >= floor {
            &attempts[..]
        } else {
            &attempts[..1]
        };
        let found = attempts.iter().find_map(|threshold| {
            let counts = fresh.pruned(&domains, *threshold, shape);
            let used = Field { counts: &counts, ..*field }.greedy(&domains)?.used;
            Some(Candidate { threshold: *threshold, used, domains: domains.clone(), counts })
        });
        let Some(found) = found else { continue };
        let is_better = match &best {
            None => found.threshold > 0,
            Some(best) => {
                found.threshold > best.threshold || found.threshold == best.threshold && found.used < best.used
            }
        };
        if is_better {
            best = Some(found);
        }
    }
    best
}

impl Field<'_> {
    fn children(&self, domains: &[DomainId]) -> Vec<DomainId> {
        domains.iter().flat_map(|domain| self.tree.domain(*domain).children().iter().copied()).collect()
    }

    fn slices(&self) -> i32 {
        self.count / self.terms.slice_size
    }

    /// The widest domains first, the leader's before the others.
    fn greedy(&self, domains: &[DomainId]) -> Option<Greedy> {
        let mut found = Greedy { used: 0, last: None, last_led: None };
        let mut domains = domains.to_vec();
        let (mut left, mut leaders_left) = (self.slices(), self.leaders);
        let mut from = 0;
        if leaders_left > 0 {
            self.sort_led(&mut domains);
            while leaders_left > 0 && from < domains.len() && self.count_of(domains[from]).leaders > 0 {
                found.used += 1;
                found.last_led = Some(domains[from]);
                leaders_left -= self.count_of(domains[from]).leaders;
                left -= self.count_of(domains[from]).slices_led;
                from += 1;
            }
        }
        if leaders_left > 0 {
            return None;
        }
        let rest = &mut domains[from..];
        self.sort(rest);
        for domain in rest.iter().take_while(|domain| self.count_of(**domain).slices > 0) {
            if left <= 0 {
                break;
            }
            found.used += 1;
            found.last = Some(*domain);
            left -= self.count_of(*domain).slices;
        }
        (left <= 0).then_some(found)
    }

    fn threshold(&self, greedy: &Greedy) -> i32 {
        let even = if greedy.used > 0 { self.slices() / greedy.used } else { 0 };
        let led = greedy.last_led.map_or(even, |domain| self.count_of(domain).slices_led);
        let last = greedy.last.map_or(even, |domain| self.count_of(domain).slices);
        even.min(led).min(last)
    }

    /// The counts without domains that cannot take as much as the threshold.
    fn pruned(&self, domains: &[DomainId], threshold: i32, shape: &Shape) -> Vec<Count> {
        let mut counts = self.counts.to_vec();
        for child in self.children(domains) {
            self.prune(child, threshold, &mut counts);
        }
        for domain in domains {
            self.recount(*domain, self.terms.level, shape, &mut counts);
            self.prune(*domain, threshold, &mut counts);
        }
        counts
    }

    fn prune(&self, domain: DomainId, threshold: i32, counts: &mut [Count]) {
        let count = counts[domain.index()];
        if count.slices < threshold {
            self.change_below(domain, counts, &|count| Count { taste: count.taste, ..Count::default() });
        } else if self.leaders > 0 && count.leaders > 0 && count.slices_led < threshold {
            // Workers may still go there.
            self.change_below(domain, counts, &|count| Count { pods_led: 0, slices_led: 0, leaders: 0, ..count });
        }
    }

    fn change_below(&self, domain: DomainId, counts: &mut [Count], change: &dyn Fn(Count) -> Count) {
        counts[domain.index()] = change(counts[domain.index()]);
        for child in self.tree.domain(domain).children() {
            self.change_below(*child, counts, change);
        }
    }

    fn recount(&self, domain: DomainId, level: usize, shape: &Shape, counts: &mut [Count]) {
        if level == self.tree.lowest() {
            if level == shape.slice_level {
                let count = &mut counts[domain.index()];
                count.slices = count.pods / shape.slice_size;
                count.slices_led = count.pods_led / shape.slice_size;
            }
            return;
        }
        for child in self.tree.domain(domain).children() {
            self.recount(*child, level + 1, shape, counts);
        }
        counts[domain.index()] = self.tree.sum_up(domain, level, counts, shape);
    }

    /// As few domains as possible, and of those the ones with the least room to spare.
    pub(super) fn fewest(&self, domains: &[DomainId], by_entropy: bool) -> Option<Vec<DomainId>> {
        let used = usize::try_from(self.greedy(domains)?.used).ok()?;
        let mut domains = domains.to_vec();
        if by_entropy {
            domains.sort_by(|a, b| self.compare_by_entropy(*a, *b));
        } else {
            domains.sort_by_key(|domain| self.tree.domain(*domain).rank);
        }
        // Per number of domains: what is left to place, leaders and pods, and the first domains found that leave it.
        let mut found: Vec<BTreeMap<(i32, i32), Vec<DomainId>>> = vec![BTreeMap::new(); used + 1];
        found[0].insert((self.leaders, self.count), Vec::new());
        for domain in domains {
            let count = self.count_of(domain);
            for number in (1..=used).rev() {
                let before: Vec<((i32, i32), Vec<DomainId>)> = found[number - 1]
                    .iter()
                    .filter(|((leaders, pods), _)| *leaders > 0 || *pods > 0)
                    .map(|(left, chosen)| (*left, chosen.clone()))
                    .collect();
                for ((leaders, pods), mut chosen) in before {
                    chosen.push(domain);
                    if leaders > 0 && count.leaders > 0 {
                        let left = (leaders - count.leaders, pods.saturating_sub(count.pods_led));
                        found[number].entry(left).or_insert_with(|| chosen.clone());
                    }
                    if count.slices > 0 {
                        let left = (leaders, pods.saturating_sub(count.pods));
                        found[number].entry(left).or_insert(chosen);
                    }
                }
            }
        }
        let fitting = found[used].range((0, i32::MIN)..=(0, 0));
        fitting.last().map(|(_, chosen)| chosen.clone())
    }

    fn compare_by_entropy(&self, a: DomainId, b: DomainId) -> Ordering {
        let (x, y) = (self.count_of(a), self.count_of(b));
        let by_room = y.leaders.cmp(&x.leaders).then(y.slices_led.cmp(&x.slices_led));
        let by_entropy = || self.entropy(b).partial_cmp(&self.entropy(a)).unwrap_or(Ordering::Equal);
        let by_rank = || self.tree.domain(a).rank.cmp(&self.tree.domain(b).rank);
        by_room.then_with(by_entropy).then_with(by_rank)
    }

    /// How evenly room is spread over the domains below.
    fn entropy(&self, domain: DomainId) -> f64 {
        let rooms: Vec<f64> =
            self.tree.domain(domain).children().iter().map(|child| f64::from(self.count_of(*child).pods)).collect();
        let total: f64 = rooms.iter().sum();
        rooms
            .iter()
            .filter(|room| **room > 0.0)
            .map(|room| {
                let part = room / total;
                -part * part.log2()
            })
            .sum()
    }

    /// The threshold for every domain, and what is left over in order: slices and leaders per domain.
    pub(super) fn level_out(&self, domains: &[DomainId], threshold: i32) -> Option<Vec<(DomainId, i32, i32)>> {
        let mut chosen = self.fewest(domains, false)?;
        let mut extra = self.slices() - i32::try_from(chosen.len()).ok()?.checked_mul(threshold)?;
        if extra < 0 {
            return None;
        }
        self.sort_led(&mut chosen);
        let mut leaders_left = self.leaders;
        let mut given = Vec::with_capacity(chosen.len());
        for domain in chosen {
            let count = self.count_of(domain);
            let leaders = i32::from(leaders_left > 0);
            let room = if leaders > 0 { count.slices_led } else { count.slices };
            let more = if leaders > 0 || extra > 0 { (room - threshold).min(extra) } else { 0 };
            leaders_left -= leaders;
            extra -= more;
            given.push((domain, threshold + more, leaders));
        }
        (extra <= 0 && leaders_left == 0).then_some(given)
    }
}
