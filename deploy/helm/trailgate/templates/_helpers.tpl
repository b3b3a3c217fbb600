{{- define "trailgate.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end -}}
{{- end }}

{{- define "trailgate.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end }}

{{- define "trailgate.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* A deployment of one role. Takes root, role and values. */}}
{{- define "trailgate.deployment" -}}
{{- $autoscaling := dig "autoscaling" "enabled" false .values -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "trailgate.name" .root }}-{{ .role }}
  labels:
    {{- include "trailgate.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
spec:
  {{- if not $autoscaling }}
  replicas: {{ .values.replicas }}
  {{- end }}
  strategy:
    type: RollingUpdate
    rollingUpdate: { maxSurge: 1, maxUnavailable: 0 }
  selector:
    matchLabels:
      {{- include "trailgate.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "trailgate.labels" .root | nindent 8 }}
        app.kubernetes.io/component: {{ .role }}
      annotations:
        checksum/config: {{ include (print .root.Template.BasePath "/config.yaml") .root | sha256sum }}
        {{- with .values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ include "trailgate.name" .root }}
      automountServiceAccountToken: false
      {{- with .root.Values.image.pullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      # gateway.shutdown.delay + drain, and 10 s for the rest.
      terminationGracePeriodSeconds: 45
      securityContext:
        runAsNonRoot: true
        runAsUser: 1000
        runAsGroup: 1000
        fsGroup: 1000
        seccompProfile: { type: RuntimeDefault }
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "trailgate.selector" . | nindent 14 }}
      containers:
        - name: trailgate
          image: "{{ .root.Values.image.repository }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}"
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          args: [start, --config, /etc/trailgate/gateway.yaml, --roles, {{ .role }}]
          ports:
            {{- if eq .role "gateway" }}
            - { name: public, containerPort: {{ .root.Values.config.gateway.port }} }
            {{- end }}
            - { name: admin, containerPort: {{ .root.Values.config.admin.port }} }
          env:
            {{- range $name, $value := .root.Values.env }}
            - { name: {{ $name }}, value: {{ $value | quote }} }
            {{- end }}
          envFrom:
            - secretRef: { name: {{ .root.Values.existingSecret }} }
          # A start migrates the database, which may take minutes.
          startupProbe:
            httpGet: { path: /livez, port: admin }
            periodSeconds: 2
            failureThreshold: 150
          # Live is not ready: a gateway whose Redis is away still serves, and must not be restarted for it.
          livenessProbe:
            httpGet: { path: /livez, port: admin }
            periodSeconds: 10
            timeoutSeconds: 3
          readinessProbe:
            httpGet: { path: /readyz, port: admin }
            periodSeconds: 5
            timeoutSeconds: 3
          resources:
            {{- toYaml .values.resources | nindent 12 }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: { drop: [ALL] }
          volumeMounts:
            - { name: config, mountPath: /etc/trailgate, readOnly: true }
            - { name: data, mountPath: /data }
            - { name: tmp, mountPath: /tmp }
      volumes:
        - name: config
          configMap: { name: {{ include "trailgate.name" .root }} }
        - { name: data, emptyDir: {} }
        - { name: tmp, emptyDir: {} }
      {{- with .values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end }}

{{- define "trailgate.podDisruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "trailgate.name" .root }}-{{ .role }}
  labels:
    {{- include "trailgate.labels" .root | nindent 4 }}
spec:
  {{- toYaml .values.podDisruptionBudget | nindent 2 }}
  selector:
    matchLabels:
      {{- include "trailgate.selector" . | nindent 6 }}
{{- end }}
