module github.com/cert-manager/cert-manager

go 1.26.0
