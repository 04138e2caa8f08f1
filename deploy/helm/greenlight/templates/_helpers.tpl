{{- define "greenlight.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 53 | trimSuffix "-" }}
{{- end }}

{{- define "greenlight.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 53 | trimSuffix "-" }}
{{- else if contains (include "greenlight.name" .) .Release.Name }}
{{- .Release.Name | trunc 53 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "greenlight.name" .) | trunc 53 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "greenlight.selector" -}}
app.kubernetes.io/name: {{ include "greenlight.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "greenlight.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "greenlight.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "greenlight.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "greenlight.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* Whether there is PostgreSQL, so that doors and workers are separate pods. */}}
{{- define "greenlight.isFleet" -}}
{{- if .Values.postgresql.existingSecret }}yes{{ end }}
{{- end }}

{{/* What every container has in its environment. */}}
{{- define "greenlight.environment" -}}
- name: GREENLIGHT_APP_ID
  value: {{ required "set github.appId to the number of the GitHub App" .Values.github.appId | toString | quote }}
- name: GREENLIGHT_PRIVATE_KEY_FILE
  value: /run/secrets/greenlight/private-key.pem
- name: GREENLIGHT_WEBHOOK_SECRET_FILE
  value: /run/secrets/greenlight/webhook-secret
{{- if .Values.secretHas.metricsToken }}
- name: GREENLIGHT_METRICS_TOKEN_FILE
  value: /run/secrets/greenlight/metrics-token
{{- end }}
{{- if .Values.secretHas.modelApiKey }}
- name: GREENLIGHT_MODEL_API_KEY_FILE
  value: /run/secrets/greenlight/model-api-key
{{- end }}
{{- if .Values.github.apiUrl }}
- name: GREENLIGHT_GITHUB_API_URL
  value: {{ .Values.github.apiUrl | quote }}
{{- end }}
{{- if .Values.github.repositories }}
- name: GREENLIGHT_REPOSITORIES
  value: {{ .Values.github.repositories | quote }}
{{- end }}
{{- if include "greenlight.isFleet" . }}
- name: GREENLIGHT_DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ .Values.postgresql.existingSecret }}
      key: {{ .Values.postgresql.key }}
{{- end }}
- name: GREENLIGHT_DATA_DIR
  value: /var/lib/greenlight
- name: GREENLIGHT_LOG_FORMAT
  value: json
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end }}

{{/* What lets people sign in to the page. Workers do not have it. */}}
{{- define "greenlight.signIn" -}}
{{- if .Values.secretHas.clientSecret -}}
- name: GREENLIGHT_CLIENT_ID
  value: {{ required "set page.clientId to the client ID of the GitHub App" .Values.page.clientId | quote }}
- name: GREENLIGHT_CLIENT_SECRET_FILE
  value: /run/secrets/greenlight-sign-in/client-secret
- name: GREENLIGHT_PUBLIC_URL
  value: {{ required "set page.publicUrl to where people reach greenlight" .Values.page.publicUrl | quote }}
{{- end }}
{{- end }}

{{/* The security context of a container that runs no code of others. */}}
{{- define "greenlight.restricted" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/* The security context of a container that makes sandboxes. */}}
{{- define "greenlight.confining" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- if eq .Values.sandbox.kind "userNamespace" }}
procMount: Unmasked
{{- end }}
seccompProfile:
  {{- toYaml .Values.sandbox.seccompProfile | nindent 2 }}
{{- end }}

{{/* What a pod that makes sandboxes has besides. */}}
{{- define "greenlight.confiningPod" -}}
{{- if eq .Values.sandbox.kind "userNamespace" }}
hostUsers: false
{{- else if eq .Values.sandbox.kind "runtimeClass" }}
runtimeClassName: {{ .Values.sandbox.runtimeClassName }}
{{- end }}
{{- end }}

{{- define "greenlight.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
{{- end }}

{{- define "greenlight.secretVolume" -}}
- name: secrets
  secret:
    secretName: {{ required "set existingSecret to the Secret with private-key.pem and webhook-secret" .Values.existingSecret }}
    defaultMode: 0440
    items:
      - { key: private-key.pem, path: private-key.pem }
      - { key: webhook-secret, path: webhook-secret }
      {{- if .Values.secretHas.metricsToken }}
      - { key: metrics-token, path: metrics-token }
      {{- end }}
      {{- if .Values.secretHas.modelApiKey }}
      - { key: model-api-key, path: model-api-key }
      {{- end }}
- name: tmp
  emptyDir: {}
{{- end }}

{{- define "greenlight.mounts" -}}
- name: secrets
  mountPath: /run/secrets/greenlight
  readOnly: true
- name: data
  mountPath: /var/lib/greenlight
- name: tmp
  mountPath: /tmp
{{- end }}
