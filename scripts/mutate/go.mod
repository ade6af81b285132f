module github.com/edgelimit/edgelimit/scripts/mutate

go 1.26.0
