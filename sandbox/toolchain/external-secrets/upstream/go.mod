module github.com/external-secrets/external-secrets

go 1.25.1
