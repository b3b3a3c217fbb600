{{- define "trailgate.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end -}}
{{- end }}

{{/* The files in /etc/trailgate. Their hash is in the name of the config map: a change makes new pods, and old ones keep their files. */}}
{{- define "trailgate.files" -}}
{{- if not .Values.config.services }}{{ fail "set config.services and config.plans: example-values.yaml shows how" }}{{ end -}}
gateway.yaml: |
  {{- toYaml .Values.config | nindent 2 }}
{{- range $name, $text := .Values.files }}
{{ $name }}: |
  {{- $text | nindent 2 }}
{{- end }}
{{- end }}

{{- define "trailgate.configMap" -}}
{{ include "trailgate.name" . }}-{{ include "trailgate.files" . | sha256sum | trunc 10 }}
{{- end }}

{{/* The variables of the secret that a role needs. */}}
{{- define "trailgate.secrets" -}}
{{- $names := list "DATABASE_URL" "REDIS_URL" -}}
{{- if ne .role "gateway" }}{{ $names = append $names "TRAILGATE_SECRETS_KEY" }}{{ end -}}
{{- if eq .role "admin" }}{{ $names = append $names "TRAILGATE_ADMIN_TOKEN" }}{{ end -}}
{{- range $names }}
- name: {{ . }}
  valueFrom: { secretKeyRef: { name: {{ $.root.Values.existingSecret }}, key: {{ . }} } }
{{- end }}
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
      {{- with .values.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ include "trailgate.name" .root }}
      automountServiceAccountToken: false
      # Kubernetes would set TRAILGATE_ADMIN_PORT to the address of a service, and the program reads that name as a port.
      enableServiceLinks: false
      {{- with .root.Values.image.pullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      terminationGracePeriodSeconds: {{ .root.Values.terminationGracePeriodSeconds }}
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
            {{- if eq .role "admin" }}
            - { name: admin, containerPort: {{ .root.Values.config.admin.port }} }
            {{- end }}
            - { name: health, containerPort: {{ .root.Values.config.admin.health.port }} }
          env:
            {{- include "trailgate.secrets" . | nindent 12 }}
            {{- range $name, $value := .root.Values.env }}
            - { name: {{ $name }}, value: {{ $value | quote }} }
            {{- end }}
          {{- with .root.Values.envFrom }}
          envFrom:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          # A start migrates the database, which may take minutes.
          startupProbe:
            httpGet: { path: /livez, port: health }
            periodSeconds: 2
            failureThreshold: 150
          # Live is not ready: a gateway whose Redis is away still serves, and must not be restarted for it.
          livenessProbe:
            httpGet: { path: /livez, port: health }
            periodSeconds: 10
            timeoutSeconds: 3
          readinessProbe:
            httpGet: { path: /readyz, port: health }
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
          configMap: { name: {{ include "trailgate.configMap" .root }} }
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
