package report

const opening = `# The outage drill

The report of a run, written by ` + "`make drill`" + ` and by nobody else: ` + "`make release-check`" + ` reads the figures from the
tables and refuses the page if a sentence says something else, or if the code has changed since.

`

const told = `
The code is named by a digest over the sources of the four modules, tests and examples left out. The Redis is one server
that keeps nothing on disk.

The gateways share the Redis and one upstream, and get every second request each of a steady load: one tenant, whose ten
users never reach limits of their own. Redis is killed by SIGKILL, and later started again on the same port. Nothing else
is touched: the gateways find out by themselves. Every policy has gateways and a Redis of its own, and all settings that
are not named here have their defaults. The command timeout is longer than its default so that a machine that is busy with
other things is not taken for an outage; a server that is dead refuses at once, and is waited for by nobody.
`

const bounds = `
These are figures of one run. What bounds them is arithmetic: a window holds at most the limit once, by the Redis that
died; with ` + "`local-fallback`" + ` the part of each replica, whose own log is empty when the outage begins; and the limit once more
for each time that Redis comes back empty in it. An outage longer than a window has its kill and its return in different
windows.
`

const figuresIntroduction = `
## The figures

A window is any interval of the window's length, wherever it begins. A request counts for a window if it began and was
answered inside: so a figure is never above what was admitted there, and can be below by what was under way at the ends.

- **before**: what was answered before the kill. **outage**: what began when Redis was gone and was answered before it was
  started again. **after**: what began when both gateways had had an answer from the new one.
- **around the kill**, **around the return**: these and one window to both sides, so that every window is seen that lies
  across them. They overlap their neighbours; **whole run** is every request once.
- **local**: answers with ` + "`X-RateLimit-Source: local`" + `.
- **typical**: admitted in a window, the median of disjoint ones. **worst**: the most admitted in any window. **by Redis**,
  **by one replica**: the most in any window that Redis, or one replica alone, decided.
- **p50**, **p99**, **slowest**: from sending a request to its whole answer, through gateway and upstream. They are of this
  machine at this time, and nothing is judged by them.
`

const checkedIntroduction = `
## What was checked

The drill fails, and writes no report, unless all of this holds.
`

const choice = `
## How to choose

- **` + "`local-fallback`, `replicas: 1`" + `** (the default) if service matters more than the limit: an outage is not noticed by
  clients, and the upstream can stand limit x replicas, and the excess around kill and return, for as long as Redis is away.
- **` + "`local-fallback` with `replicas`" + `** set to the number of replicas, if the upstream is built for about the limit: an outage
  admits about the limit while the load is spread evenly. A replica that gets more than its part denies early, one that gets
  less leaves room unused, and a number that is not kept up to date makes the total wrong. A limit below the number of
  replicas is still 1 for each. The windows around kill and return exceed the limit here too.
- **` + "`fail-closed`" + `** if a window above the limit costs more than an outage: nobody is served, and ` + "`/readyz`" + ` pulls every replica,
  until Redis is back.
- **shedding at the ingress**, with ` + "`local-fallback`" + ` behind it, if neither will do: clients are served, and the proxy in front
  holds the total. The recipe is in [operations](../operations.md#shedding-load-at-the-ingress).
`
