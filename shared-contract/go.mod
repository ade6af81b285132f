module github.com/edgelimit/edgelimit/shared-contract

go 1.25.0
