//! Corpus files that test a Go helper nobody outside Kueue's code can notice, each with the reason.

/// `package/test` and why there is nothing to compare.
pub const NOT_APPLICABLE: &[(&str, &str)] = &[
    (
        "pkg-cache-queue-afs/TestUpdate",
        "calls a function under the lock of a map; our ledger has one owner, and the functions are code, not data",
    ),
    (
        "pkg-cache-queue/TestInadmissibleWorkloads_Delete",
        "one operation of a Go map under another name; who is aside is compared in every other test of queues",
    ),
    (
        "pkg-cache-queue/TestInadmissibleWorkloads_Empty",
        "one operation of a Go map under another name; who is aside is compared in every other test of queues",
    ),
    (
        "pkg-cache-queue/TestInadmissibleWorkloads_Get",
        "one operation of a Go map under another name; who is aside is compared in every other test of queues",
    ),
    (
        "pkg-cache-queue/TestInadmissibleWorkloads_Insert",
        "one operation of a Go map under another name; who is aside is compared in every other test of queues",
    ),
    (
        "pkg-cache-queue/TestInadmissibleWorkloads_Len",
        "one operation of a Go map under another name; who is aside is compared in every other test of queues",
    ),
    (
        "pkg-cache-queue/TestPendingSchedulingHashesTracksMutations",
        "hashes and moves are code and not recorded; counts of shapes are held to a model by a property test",
    ),
    (
        "pkg-cache-scheduler/TestCompareDomainCapacityAndEntropy",
        "the domains are built in code and not recorded; balanced placements are compared as a whole",
    ),
    (
        "pkg-cache-scheduler/TestFreeCapacityPerDomain",
        "prints a snapshot that is built in code and not recorded; TestSnapshotLog compares the same account",
    ),
    (
        "pkg-cache-scheduler/TestPruneDomainsBelowThreshold",
        "the domains are built in code and not recorded; balanced placements are compared as a whole",
    ),
    (
        "pkg-cache-scheduler/TestSelectOptimalDomainSetToFitStableTieBreak",
        "the domains are built in code and not recorded; the order of equal domains is compared in other tests",
    ),
    (
        "pkg-cache-scheduler/TestSnapshotWithReusedTreeMatchesColdBuild",
        "compares two copies that Kueue makes of its nodes; ours are never copied, and a property test holds answers after changes to those of an engine that knew no other state",
    ),
    (
        "pkg-config/TestDefaultTransformStripsManagedFields",
        "what an informer's cache drops; the recorded objects have no managed fields, so input and output are the same",
    ),
    (
        "pkg-controller-core-indexer/TestIndexOwnerUID",
        "owners are found by kind and name here, and their uid is compared with what was found",
    ),
    (
        "pkg-controller-core-indexer/TestSetupToleratesNoMatchErrorForDeviceClass",
        "Kueue's indexes are set up before it knows which kinds exist; an informer here waits for its kind",
    ),
    (
        "pkg-controller-core/TestResourceFlavorPredicates",
        "which of three channels inside Kueue hear of a flavor; here everybody listens to one informer",
    ),
    (
        "pkg-controller-jobframework/TestEnabledIntegrationsDependencies",
        "a deprecated list of frameworks that others need; no framework has one, and the names of the test are made up",
    ),
    ("pkg-controller-jobframework/TestForEach", "calls a function for every entry of a list"),
    ("pkg-controller-jobframework/TestProcessOptions", "copies Go's functional options into a structure"),
    (
        "pkg-controller-jobframework/TestRecordWorkloadCreationLatency",
        "subtracts two times and hands the result to a histogram",
    ),
    (
        "pkg-controller-jobframework/TestSetupControllers",
        "registers callbacks with Go's controller library; which kinds are managed is compared in other tests",
    ),
    (
        "pkg-controller-jobframework/TestSetupIndexes",
        "indexes of Go's client by field path; ours finds the Workloads of any owner",
    ),
    (
        "pkg-controller-jobs-raycluster/TestParsePodSetReplicaSizes",
        "reads an annotation that nothing in Kueue writes or asks for any more",
    ),
    (
        "pkg-controller-tas/TestDrainPendingNodes",
        "a set of node names under a lock, emptied every ten seconds; the engine wakes who waits when a pod frees a node",
    ),
    ("pkg-podset/TestAddOrUpdateLabel", "adds an entry to a map, with Go's nil maps in mind"),
    ("pkg-resources/TestLazyRequests", "when Go copies a map before writing to it; the operations are code, not data"),
    ("pkg-resources/TestSliceRequests_Clone", "copying a value, which the language does for us"),
    (
        "pkg-scheduler/TestEntryMarkPreemptionOutcome",
        "sets fields of an entry; whole cycles show the message, and no write fails inside the engine",
    ),
    ("pkg-scheduler/TestEntryMarkSkipped", "sets fields of an entry; whole cycles show what the next one starts from"),
    ("pkg-scheduler-flavorassigner/TestAssignment_RequiresBorrowing", "whether a number is greater than zero"),
    (
        "pkg-scheduler-preemption/TestFairPreemptionSkipsUnsatisfiableTournament",
        "counts lines of Kueue's log; the victims are the same either way",
    ),
    ("pkg-util-cmp/TestCompareBool", "orders two booleans for a sort; what is sorted so is tested where it shows"),
    ("pkg-util-maps/TestContains", "compares two maps; used by Kueue's own test helpers only"),
    ("pkg-util-maps/TestCopy", "copies entries from one map to another, with Go's nil maps in mind"),
    (
        "pkg-util-maps/TestFilterKeys",
        "keeps the listed keys of a map; which keys are kept is tested with the job kinds",
    ),
    ("pkg-util-maps/TestToRefMap", "copies a map and follows pointers, both Go only"),
    (
        "pkg-util-orderedgroups/TestInOrder",
        "a container that iterates in the order of insertion, which Go's maps do not",
    ),
    (
        "pkg-util-orderedgroups/TestInsert",
        "a container that iterates in the order of insertion, which Go's maps do not",
    ),
    ("pkg-util-slices/TestPick", "filters a slice"),
    (
        "pkg-util-slices/TestToCmpNoOrder",
        "compares two slices as multisets, to see that an update only reordered a list",
    ),
    ("pkg-util-slices/TestToRefMap", "indexes a slice by pointers to its elements"),
    ("pkg-util-strings/TestStringContainsSubstrings", "searches a text; used by Kueue's own test helpers only"),
    (
        "pkg-util-tas/TestBelongsTo",
        "whether one text begins with another; which domain is part of which shows in every replacement of a node",
    ),
    ("pkg-util-tas/TestChunkCount", "divides and rounds up; the slices that come of it are compared"),
    ("pkg-util-tas/TestCompactDomainRuns", "groups equal neighbours; the slices that come of it are compared"),
    (
        "pkg-util-tas/TestNodeNameFromDomainID",
        "takes apart a text that Kueue knows a domain by; a domain here is told by its values",
    ),
    ("pkg-util-tas/TestReusableHostnamePrefixKeys", "a step of the encoding whose result is compared as a whole"),
    ("pkg-util-testing/TestHaveConditionStatusAndReason", "a matcher for Kueue's own Go tests"),
    ("pkg-util-tlsconfig/TestBuildTLSOptions", "copies three numbers into the options of Go's TLS library"),
    (
        "pkg-workload/TestUpdateReclaimablePods",
        "writes the list it is given through a client; what follows from the list is tested where it counts",
    ),
];
