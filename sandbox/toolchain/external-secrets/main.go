// The External Secrets controller for the sandbox: upstream's reconcilers and its providers for
// Kubernetes and AWS, without the webhook, the certificate controller and forty other providers.
package main

import (
	"flag"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	corev1 "k8s.io/api/core/v1"

	esv1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1"
	esv1alpha1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1alpha1"
	genv1alpha1 "github.com/external-secrets/external-secrets/apis/generators/v1alpha1"
	ctrlcommon "github.com/external-secrets/external-secrets/pkg/controllers/common"
	"github.com/external-secrets/external-secrets/pkg/controllers/externalsecret"
	"github.com/external-secrets/external-secrets/pkg/controllers/externalsecret/esmetrics"
	"github.com/external-secrets/external-secrets/pkg/controllers/metrics"
	"github.com/external-secrets/external-secrets/pkg/controllers/secretstore"
	"github.com/external-secrets/external-secrets/pkg/controllers/secretstore/ssmetrics"
)

// Upstream's --controller-class; a store that names another class is somebody else's.
const class = "default"

func main() {
	// --kubeconfig is controller-runtime's own flag; the Kubernetes provider reads it as well.
	health := flag.String("health-address", "", "where /healthz answers (host:port)")
	aws := flag.String("secrets-manager-endpoint", "", "URL of a stand-in for AWS Secrets Manager")
	flag.Parse()
	if *aws != "" {
		// The provider reads the address from here, as upstream documents.
		_ = os.Setenv("AWS_SECRETSMANAGER_ENDPOINT", *aws)
	}
	ctrl.SetLogger(zap.New(zap.Level(zapcore.InfoLevel)))
	log := ctrl.Log.WithName("external-secrets")

	config := ctrl.GetConfigOrDie()
	if err := lendClusterName(config); err != nil {
		log.Error(err, "no way to the cluster's own name")
		os.Exit(1)
	}
	if err := run(config, *health); err != nil {
		log.Error(err, "external-secrets ended")
		os.Exit(1)
	}
}

// run starts the two reconcilers that we use and waits until one fails or the process is told to end.
func run(config *rest.Config, health string) error {
	metrics.SetUpLabelNames(false)
	esmetrics.SetUpMetrics()
	ssmetrics.SetUpMetrics()
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 scheme(),
		Metrics:                server.Options{BindAddress: "0"},
		HealthProbeBindAddress: health,
		// As upstream: Secrets and ConfigMaps are read, not kept.
		Client: client.Options{Cache: &client.CacheOptions{
			DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}},
		}},
	})
	if err != nil {
		return err
	}
	secrets, err := ctrlcommon.BuildManagedSecretClient(manager, "")
	if err != nil {
		return err
	}
	options := controller.Options{
		MaxConcurrentReconciles: 4,
		RateLimiter:             ctrlcommon.BuildRateLimiter(),
	}
	stores := &secretstore.StoreReconciler{
		Client:          manager.GetClient(),
		Log:             ctrl.Log.WithName("SecretStore"),
		Scheme:          manager.GetScheme(),
		ControllerClass: class,
		RequeueInterval: 5 * time.Minute,
	}
	if err := stores.SetupWithManager(manager, options); err != nil {
		return err
	}
	wanted := &externalsecret.Reconciler{
		Client:          manager.GetClient(),
		SecretClient:    secrets,
		Log:             ctrl.Log.WithName("ExternalSecret"),
		Scheme:          manager.GetScheme(),
		RestConfig:      manager.GetConfig(),
		ControllerClass: class,
		RequeueInterval: time.Hour,
		EnableFloodGate: true,
	}
	if err := wanted.SetupWithManager(manager, options); err != nil {
		return err
	}
	if err := manager.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

func scheme() *runtime.Scheme {
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, esv1.AddToScheme, esv1alpha1.AddToScheme, genv1alpha1.AddToScheme,
	} {
		utilruntime.Must(add(known))
	}
	return known
}

// Names by which a pod reaches the API server; nothing resolves them on a host.
var clusterNames = map[string]bool{
	"kubernetes.default:443":                   true,
	"kubernetes.default.svc:443":               true,
	"kubernetes.default.svc.cluster.local:443": true,
}

// lendClusterName makes the cluster's own names work in this process, by a proxy that forwards them
// to the API server and refuses every other address: a store is written as in production, and a
// sandbox reaches nothing outside this machine (loopback addresses never go through a proxy).
func lendClusterName(config *rest.Config) error {
	server, err := url.Parse(config.Host)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	forward := func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || !clusterNames[r.Host] {
			http.Error(w, r.Host+" cannot be reached from the sandbox", http.StatusForbidden)
			return
		}
		tunnel(w, server.Host)
	}
	proxy := &http.Server{Handler: http.HandlerFunc(forward), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = proxy.Serve(listener) }()
	address := "http://" + listener.Addr().String()
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY"} {
		if err := os.Setenv(name, address); err != nil {
			return err
		}
	}
	return os.Unsetenv("NO_PROXY")
}

// tunnel joins the client of a CONNECT request with the server until one of them closes.
func tunnel(w http.ResponseWriter, server string) {
	upstream, err := net.Dial("tcp", server)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer upstream.Close()
	w.WriteHeader(http.StatusOK)
	client, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	go func() {
		_, _ = io.Copy(upstream, buffered)
		_ = upstream.Close()
	}()
	_, _ = io.Copy(client, upstream)
}
