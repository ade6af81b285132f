package config

import (
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

func (c *compiler) routes(given []rawRoute, policies catalogue) []Route {
	routes := []Route{}
	for i, raw := range given {
		key := item(keyRoutes, i)
		route := Route{
			Path:    c.routePath(key+".path", raw.Path),
			Methods: c.methods(key+".methods", raw.Methods),
			Policy:  orElse(raw.Policy, ""),
			Cost:    orElse(raw.Cost, defaultCost),
		}
		c.routePolicy(key, raw, route, policies)
		if c.sound(key+".path") && c.sound(key+".methods") {
			c.covered(key, route, routes)
		}
		routes = append(routes, route)
	}
	return routes
}

func (c *compiler) routePath(key string, given *string) string {
	if given == nil {
		c.refuse(key, "is missing: every route has one, as in /search/*")
		return ""
	}
	if err := checkPath(*given); err != nil {
		c.refuse(key, "%v; it is %s", err, shown(*given))
	}
	return *given
}

var escaped = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// checkPath refuses what a decoded, cleaned path can never match.
func checkPath(text string) error {
	exact, below := strings.CutSuffix(text, "/*")
	switch {
	case !strings.HasPrefix(text, "/"):
		return errors.New("must begin with /")
	case len(text) > 1024:
		return errors.New("must be at most 1024 characters")
	case strings.Contains(exact, "*"):
		return errors.New("may hold a * only as the last part, as in /search/*")
	case strings.ContainsAny(exact, `?#\`) || escaped.MatchString(exact) || strings.ContainsFunc(exact, unicode.IsControl):
		return errors.New("must be a decoded path without query, fragment, percent-encoding or backslash")
	case below && exact == "/" || exact != "" && path.Clean(exact) != exact:
		return errors.New("must be a clean path: no doubled slash, no slash at the end, no part that is . or .. alone")
	}
	return nil
}

func (c *compiler) methods(key string, given []string) []string {
	methods := []string{}
	for i, method := range given {
		if !token.MatchString(method) || len(method) > 32 || method != strings.ToUpper(method) {
			c.refuse(item(key, i), "must be a method in upper case, as in GET; it is %s", shown(method))
			continue
		}
		if slices.Contains(methods, method) {
			c.refuse(item(key, i), "lists %s twice: keep one", method)
		}
		methods = append(methods, method)
	}
	return methods
}

func (c *compiler) routePolicy(key string, raw rawRoute, route Route, policies catalogue) {
	if raw.Policy == nil {
		c.refuse(key+".policy", "is missing: name one of %s", keyPolicies)
	} else {
		c.exists(key+".policy", route.Policy, policies)
	}
	if route.Cost < 1 {
		c.refuse(key+".cost", "must be at least 1; it is %d", route.Cost)
	}
	if policy, ok := policies.compiled[route.Policy]; ok && route.Cost > policy.MaxCost() {
		c.refuse(key+".cost", "must be at most %d, the max-cost of policy %s; it is %d", policy.MaxCost(), shown(route.Policy), route.Cost)
	}
}

// covered refuses a route whose every request an earlier one takes.
func (c *compiler) covered(key string, route Route, earlier []Route) {
	for i, other := range earlier {
		if coversPath(other.Path, route.Path) && coversMethods(other.Methods, route.Methods) {
			c.refuse(key+".path", "%s never matches, because %s covers it: move it up or remove it", shown(route.Path), item(keyRoutes, i))
			return
		}
	}
}

func coversPath(pattern, other string) bool {
	prefix, below := strings.CutSuffix(pattern, "/*")
	if !below {
		return pattern == other
	}
	return other == prefix || strings.HasPrefix(other, prefix+"/")
}

func coversMethods(methods, others []string) bool {
	if len(methods) == 0 {
		return true
	}
	return len(others) > 0 && !slices.ContainsFunc(others, func(method string) bool {
		return !slices.Contains(methods, method) && (method != "HEAD" || !slices.Contains(methods, "GET"))
	})
}
