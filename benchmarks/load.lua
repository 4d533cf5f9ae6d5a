-- Run by wrk (load.py): asks for the paths of a file in turn, and prints what it saw in a form that is easy to read back.

function init(args)
   local requests = {}
   for path in io.lines(args[1]) do
      requests[#requests + 1] = wrk.format("GET", path)
   end
   local last = 0
   request = function()
      last = last % #requests + 1
      return requests[last]
   end
end

function done(summary, latency)
   local errors = summary.errors
   print(string.format("totals: requests=%d microseconds=%d connect=%d read=%d write=%d status=%d timeout=%d",
      summary.requests, summary.duration, errors.connect, errors.read, errors.write, errors.status, errors.timeout))
   local counts = {}
   for i = 1, #latency do
      counts[i] = string.format("%d:%d", latency(i))
   end
   print("latencies: " .. table.concat(counts, " "))
end
