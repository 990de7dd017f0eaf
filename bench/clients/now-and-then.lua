-- Devices that send occasional requests: before each request, up to 100 ms pass. Prints the 99th percentile of the
-- replies' times, without the pause.
--
-- usage: wrk -tN -cN -s now-and-then.lua URL

function delay()
    return math.random(0, 100)
end

function done(summary, latency, _)
    print(string.format("p99: %d microseconds of %d requests", latency:percentile(99), summary.requests))
end
