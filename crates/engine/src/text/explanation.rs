//! An explanation in words, for people.

use std::fmt;

use super::amount;
use crate::explain::{Explanation, Look, PlaceLook, PlacedLook, Spared, Standing};

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.workload)?;
        match &self.queue {
            Some(queue) => write!(f, " in ClusterQueue {queue}")?,
            None => f.write_str(" in no ClusterQueue")?,
        }
        match &self.standing {
            Standing::Running => f.write_str(" holds quota\n")?,
            Standing::InLine { ahead: 0, .. } => f.write_str(" is next in line\n")?,
            Standing::InLine { ahead, first } => {
                write!(f, " is in line behind {ahead}")?;
                first.iter().try_for_each(|first| write!(f, ", the first is {first}"))?;
                f.write_str("\n")?;
            }
            Standing::Parked => f.write_str(" waits for something to change\n")?,
            Standing::Held { until: Some(until) } => writeln!(f, " waits until {until}")?,
            Standing::Held { until: None } => f.write_str(" waits to be queued again\n")?,
            Standing::Out => f.write_str(" is not queued\n")?,
        }
        if !self.reason.is_empty() {
            writeln!(f, "  {}: {}", self.reason, self.message)?;
        }
        self.places.iter().try_for_each(|placed| placed.write(f))?;
        self.look.iter().try_for_each(|look| look.write(f))
    }
}

impl Look {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whom = if self.is_of_equal { "an equal workload" } else { "it" };
        writeln!(f, "  a cycle looked at {whom} at {}", self.at)?;
        for pod_set in &self.pod_sets {
            for flavor in &pod_set.flavors {
                write!(f, "    {}: flavor {}: {}", pod_set.name, flavor.flavor, flavor.state)?;
                if flavor.borrowing_level > 0 {
                    write!(f, ", borrowing from level {}", flavor.borrowing_level)?;
                }
                for shortage in &flavor.shortages {
                    let missing = amount(&shortage.resource, shortage.missing);
                    let when = if shortage.is_for_ever { "even in an empty cluster" } else { "now" };
                    write!(f, "; {missing} {} too little {when}", shortage.resource)?;
                }
                flavor.refusals.iter().try_for_each(|refusal| write!(f, "; {refusal}"))?;
                f.write_str("\n")?;
            }
            pod_set.refusals.iter().try_for_each(|refusal| writeln!(f, "    {}: {refusal}", pod_set.name))?;
            if let Some(place) = &pod_set.place {
                writeln!(f, "    {}: {place}", pod_set.name)?;
            }
        }
        for (victim, rule) in &self.victims {
            writeln!(f, "    {victim} has to leave first ({rule})")?;
        }
        for (why, count) in &self.spared {
            writeln!(f, "    {count} {}", spared(*why))?;
        }
        self.taken_by.iter().try_for_each(|other| writeln!(f, "    {other} got in its way"))
    }
}

impl fmt::Display for PlaceLook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { level, domain, fitting, wanted, domains, excluded } = self;
        write!(f, "room for {fitting} of {wanted} at level {level}")?;
        if !domain.is_empty() {
            write!(f, " in {}", domain.join("/"))?;
        }
        write!(f, "; {domains} lowest domains")?;
        for (index, (why, count)) in excluded.iter().enumerate() {
            let word = if index == 0 { ", excluded" } else { "," };
            write!(f, "{word} {count} by {why}")?;
        }
        Ok(())
    }
}

impl PlacedLook {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {} is placed by {}:", self.name, self.place.levels.join("/"))?;
        for share in &self.place.domains {
            write!(f, " {} in {}", share.count, share.values.join("/"))?;
        }
        f.write_str("\n")
    }
}

fn spared(why: Spared) -> &'static str {
    match why {
        Spared::SameQueue => "of its ClusterQueue stay: it does not preempt its own",
        Spared::OtherQueue => "of other ClusterQueues stay: it reclaims nothing",
        Spared::InactiveQueue => "of other ClusterQueues stay: those are not active",
        Spared::NotBorrowing => "of other ClusterQueues stay: those use no more than their own",
        Spared::Protected => "stay: their priority or age protects them",
        Spared::InVain => "stay: it would not be enough if they left, or not be fair",
        Spared::NotNeeded => "stay: others leave",
    }
}
