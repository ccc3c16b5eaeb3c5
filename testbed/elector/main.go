// Elector competes for a Lease as every program with client-go does, and says on standard output when it leads:
// "leading NANOSECONDS" and "stopped NANOSECONDS". On SIGTERM it gives the Lease back.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server")
	namespace := flag.String("namespace", "default", "where the Lease is")
	name := flag.String("name", "", "the Lease")
	identity := flag.String("identity", "", "who competes")
	lease := flag.Duration("lease", 15*time.Second, "how long the Lease lasts")
	renew := flag.Duration("renew", 10*time.Second, "when to give up")
	retry := flag.Duration("retry", 2*time.Second, "how often to try")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := compete(ctx, *kubeconfig, *namespace, *name, *identity, *lease, *renew, *retry); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func compete(ctx context.Context, kubeconfig, namespace, name, identity string, lease, renew, retry time.Duration) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	say := func(what string) { fmt.Println(what, time.Now().UnixNano()) }
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: name},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		LeaseDuration:   lease,
		RenewDeadline:   renew,
		RetryPeriod:     retry,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { say("leading") },
			OnStoppedLeading: func() { say("stopped") },
		},
	})
	if err != nil {
		return err
	}
	elector.Run(ctx)
	return nil
}
