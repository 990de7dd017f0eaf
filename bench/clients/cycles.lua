-- The requests of devices that commit small files: UploadFile of 1 KiB, DoneUploads, and so on, each device on its own
-- connection.
--
-- usage: CYCLES=LINES wrk -tN -cN -s cycles.lua URL
--
-- The variable CYCLES has a line for each thread: "group device token check-sum master-version". wrk runs a Lua state
-- for each thread, and each thread has one connection, so a state is a device. If its master version is stale, a device
-- continues with the current one, as an app does. Only accepted commits count.

local threads = {}

function setup(thread)
    thread:set("number", #threads + 1)
    table.insert(threads, thread)
end

function init(_)
    local lines = {}
    for line in os.getenv("CYCLES"):gmatch("[^\n]+") do lines[#lines + 1] = line end
    local group, token, check_sum
    group, device, token, check_sum, version = lines[number]:match("(%S+) (%S+) (%S+) (%S+) (%S+)")
    version = tonumber(version)
    math.randomseed(os.time() * 1000 + number * 7919 + tonumber(device:sub(1, 6), 16))
    headers = {
        ["X-token-type"] = "GoogleToken", ["access_token"] = token, ["SyncServer-Device-UUID"] = device,
    }
    body = string.rep("x", 1024)
    upload_tail = "&mimeType=text%2Fplain&sharingGroupUUID=" .. group
    upload_head = "/UploadFile/?checkSum=" .. check_sum .. "&fileUUID="
    commit_tail = "&sharingGroupUUID=" .. group
    is_uploading = true
    file = nil
    commits, stale, failures, failure = 0, 0, 0, ""
end

local function new_uuid()
    local function digits(count)
        local text = ""
        for _ = 1, count do text = text .. string.format("%04X", math.random(0, 65535)) end
        return text
    end
    return digits(2) .. "-" .. digits(1) .. "-" .. digits(1) .. "-" .. digits(1) .. "-" .. digits(3)
end

function request()
    if is_uploading then
        file = file or new_uuid()
        return wrk.format(
            "POST", upload_head .. file .. "&fileVersion=0&masterVersion=" .. version .. upload_tail, headers, body)
    end
    return wrk.format("POST", "/DoneUploads/?masterVersion=" .. version .. commit_tail, headers)
end

function response(status, reply_headers, reply_body)
    local message = reply_headers["syncserver-message-params"] or reply_body
    if status ~= 200 then
        failures = failures + 1
        failure = status .. " " .. message:sub(1, 200)
        return
    end
    local current = message:match('"masterVersionUpdate":(%d+)')
    if current then
        stale = stale + 1
        version = tonumber(current)
    elseif is_uploading then
        is_uploading = false
    else
        commits = commits + 1
        version = version + 1
        is_uploading = true
        file = nil
    end
end

function done(summary, _, _)
    local commits, stale, failures, failure = 0, 0, 0, ""
    for _, thread in ipairs(threads) do
        commits = commits + thread:get("commits")
        stale = stale + thread:get("stale")
        failures = failures + thread:get("failures")
        if thread:get("failure") ~= "" then failure = thread:get("failure") end
    end
    print(string.format(
        "cycles: %d commits %d stale %d failures %d microseconds %s", commits, stale, failures, summary.duration,
        failure))
end
