-- The load of the emulated cloud alone: small files sent directly to its Drive, in one multipart request each.
--
-- usage: ACCESS_TOKEN=TOKEN wrk -tN -cN -s cloud.lua URL      URL is that of the proxy before the sandbox

local counter = 0

function setup(thread)
    counter = counter + 1
    thread:set("prefix", counter .. "-" .. os.time())
end

function init(_)
    count = 0
    headers = {
        ["Authorization"] = "Bearer " .. os.getenv("ACCESS_TOKEN"),
        ["Content-Type"] = "multipart/related; boundary=part",
    }
    head = "--part\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n"
    tail = "\r\n--part\r\nContent-Type: text/plain\r\n\r\n" .. string.rep("x", 1024) .. "\r\n--part--\r\n"
end

function request()
    count = count + 1
    local body = head .. '{"name": "' .. prefix .. "-" .. count .. '.txt"}' .. tail
    return wrk.format("POST", "/upload/drive/v3/files?uploadType=multipart", headers, body)
end
