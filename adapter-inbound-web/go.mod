module github.com/edgelimit/edgelimit/adapter-inbound-web

go 1.26.0

require (
	github.com/edgelimit/edgelimit/shared-contract v0.0.0
	github.com/go-chi/chi/v5 v5.5.0
	github.com/hashicorp/golang-lru/v2 v2.0.7
)

replace github.com/edgelimit/edgelimit/shared-contract => ../shared-contract
