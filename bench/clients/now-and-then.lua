-- Devices that send occasional requests: after each reply, and before the first request, up to 100 ms pass. Prints
-- how long 99 % of the replies took at most, the pause not included.
--
-- usage: wrk -tN -cN -s now-and-then.lua URL

function delay()
    return math.random(0, 100)
end

function done(summary, latency, _)
    print(string.format("p99: %d microseconds of %d requests", latency:percentile(99), summary.requests))
end
