module github.com/edgelimit/edgelimit/shared-contract/examples/importing-service

go 1.25.0

require github.com/edgelimit/edgelimit/shared-contract v0.0.0

replace github.com/edgelimit/edgelimit/shared-contract => ../..
