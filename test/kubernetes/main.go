// Command kubernetes renders the Helm chart and decodes each object strictly into its Kubernetes API type.
//
//	go run . CHART [VALUES.yaml]...
//
// It prints the objects without what only Helm needs, and exits with 1 and a line for each object that a cluster would not take as
// it is meant.
package main

import (
	"fmt"
	"os"
	"regexp"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
)

// types by apiVersion and kind. An object of another kind is an error.
var types = map[string]func() any{
	"v1 ConfigMap":                            func() any { return &corev1.ConfigMap{} },
	"v1 Service":                              func() any { return &corev1.Service{} },
	"v1 ServiceAccount":                       func() any { return &corev1.ServiceAccount{} },
	"apps/v1 Deployment":                      func() any { return &appsv1.Deployment{} },
	"policy/v1 PodDisruptionBudget":           func() any { return &policyv1.PodDisruptionBudget{} },
	"autoscaling/v2 HorizontalPodAutoscaler":  func() any { return &autoscalingv2.HorizontalPodAutoscaler{} },
	"networking.k8s.io/v1 Ingress":            func() any { return &networkingv1.Ingress{} },
	"networking.k8s.io/v1 NetworkPolicy":      func() any { return &networkingv1.NetworkPolicy{} },
	"gateway.networking.k8s.io/v1 HTTPRoute":  func() any { return &gatewayv1.HTTPRoute{} },
	"monitoring.coreos.com/v1 ServiceMonitor": func() any { return &monitoringv1.ServiceMonitor{} },
}

// onlyHelm matches the labels that tell Helm its own objects.
var onlyHelm = regexp.MustCompile(`(?m)^ *(?:app\.kubernetes\.io/managed-by|helm\.sh/chart): .*\n`)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	chart, err := loader.LoadDir(args[0])
	if err != nil {
		return err
	}
	values := map[string]any{}
	for _, file := range args[1:] {
		more, err := chartutil.ReadValuesFile(file)
		if err != nil {
			return err
		}
		values = chartutil.MergeTables(more, values)
	}
	release := chartutil.ReleaseOptions{Name: "trailgate", Namespace: "default", IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, values, release, chartutil.DefaultCapabilities)
	if err != nil {
		return err
	}
	rendered, err := engine.Engine{Strict: true}.Render(chart, all)
	if err != nil {
		return err
	}
	var names []string
	for name := range rendered {
		if strings.HasSuffix(name, ".yaml") {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	var problems []string
	for _, name := range names {
		for _, document := range strings.Split("\n"+rendered[name], "\n---\n") {
			document = strings.TrimSpace(document)
			if document == "" {
				continue
			}
			if err := decode(document); err != nil {
				problems = append(problems, fmt.Sprintf("%s: %v", name, err))
			}
			fmt.Printf("---\n%s\n", onlyHelm.ReplaceAllString(document, ""))
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("%s", strings.Join(problems, "\n"))
	}
	return nil
}

func decode(document string) error {
	var meta metav1.TypeMeta
	if err := yaml.Unmarshal([]byte(document), &meta); err != nil {
		return err
	}
	name := meta.APIVersion + " " + meta.Kind
	of, ok := types[name]
	if !ok {
		return fmt.Errorf("%s is of no known type", name)
	}
	if err := yaml.UnmarshalStrict([]byte(document), of()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
