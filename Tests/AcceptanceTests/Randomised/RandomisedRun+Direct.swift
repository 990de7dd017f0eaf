import SyncModel
import TestSupport

/// The way in which a phone uses an address in the owner's storage.
private enum AddressUse: String {
    case allBytes = "all bytes"
    case otherBytes = "other bytes"
    case throughServer = "through the server after all"
    case neverConfirmed = "never confirmed"
    case nothing = "nothing"
}

/// A problem while a phone asks for an address or confirms its bytes.
private enum DirectTrouble: String {
    case nothing
    case cloudFails = "cloud fails"
    case replyOfCloudLost = "reply of cloud lost"
    case responderKilled = "responder killed"
}

/// Uploads whose bytes the phone sends directly to the storage (docs/protocol.md, section 8.29): others see the same
/// result as from one request.
extension RandomisedRun {
    /// The phone asks for an address, others act meanwhile, and the phone ends the upload in one of several ways.
    mutating func uploadDirectly(_ request: Request, by caller: Caller) async throws {
        let whole = try httpCall(request, by: caller)
        guard let body = whole.body, !body.isEmpty else { return try make(request, by: caller) }
        // The server compares OneDrive's bytes only with this hash. Only downloads detect a wrong checksum announced
        // with it, so a caller that announces one does not ask for an address here.
        let storageHash = request.announcesItsBytes ? "&storageHash=\(Checksum.quickXor(body))" : ""
        let creation = HTTPCall(
            "POST", whole.target.replacing("/UploadFile/", with: "/CreateUpload/") + "&direct=true" + storageHash,
            headers: whole.headers + [("Upload-Length", String(body.count))])
        let created = try await performUntilAnswered(creation)
        if created.json?.code?.text == "checksum_mismatch", request.announcesItsBytes {
            return try make(request, by: caller, "since it may not come in pieces")
        }
        guard created.status == 201 else { return try end(request, by: caller, with: created, "not begun") }
        let upload = try PieceCalls(created, headers: whole.headers)
        if random.chance(30) {
            let again = try server.address.perform(creation)
            guard again.status == 201, again.messageParameters == created.messageParameters else {
                throw difference(["CreateUpload is \(created), and again \(again)"])
            }
        }
        guard let address = created.messageParameters?.directUpload else {
            return try sendThroughServer(request, body, upload, by: caller)
        }
        let use: AddressUse = random.pick(weighted: [
            (50, .allBytes), (15, .otherBytes), (15, .throughServer), (10, .neverConfirmed), (10, .nothing),
        ])
        tally.direct[use.rawValue, default: 0] += 1
        switch use {
        case .allBytes, .neverConfirmed: try send(body, to: address)
        case .otherBytes: try send([body[0] ^ 1] + body.dropFirst(), to: address)
        case .throughServer, .nothing: break
        }
        try perhapsLetOthersAct(meanwhile: caller)
        switch use {
        case .allBytes: try await confirm(request, body, upload, by: caller)
        case .throughServer: try sendThroughServer(request, body, upload, by: caller)
        case .otherBytes:
            let reply = try server.address.perform(upload.confirmed(ofBytes: body.count))
            note("\(caller) \(PhoneCall(request).description) [other bytes than announced] → \(reply.status)")
            // A stale master version is also possible, and stages nothing either.
            guard reply.messageParameters?.creationDate == nil else {
                throw difference(["other bytes than announced: \(reply)"])
            }
            try abandon(upload)
        case .neverConfirmed, .nothing:
            note("\(caller) \(PhoneCall(request).description) [direct, \(use.rawValue)]")
            try abandon(upload)
        }
    }

    /// Repeats a request that fails for reasons outside the phone.
    private mutating func performUntilAnswered(_ call: HTTPCall) async throws -> HTTPReply {
        let trouble: DirectTrouble = random.pick(weighted: [
            (60, .nothing), (15, .cloudFails), (15, .replyOfCloudLost), (mayKill ? 20 : 0, .responderKilled),
        ])
        if trouble != .nothing { tally.direct[trouble.rawValue, default: 0] += 1 }
        switch trouble {
        case .nothing: break
        case .cloudFails, .replyOfCloudLost:
            var fault = SandboxFault(host: nil, status: 503, times: 1)
            fault.afterEffect = trouble == .replyOfCloudLost
            try server.sandbox.inject(fault)
            let reply = try server.address.perform(call)
            try server.sandbox.clearFaults()
            note("\(call.method) \(call.target.prefix(40))… [\(trouble.rawValue)] → \(reply.status)")
            if reply.status < 500, reply.status != 429 { return reply }
        case .responderKilled:
            let part = random.chance(50) ? "syncd_api" : "syncd_transfer"
            let reply = try await perform(
                call, whileKilling: part, after: Int.random(in: 0...20_000, using: &random))
            note("\(call.method) \(call.target.prefix(40))… [\(part) killed] → \(reply?.status ?? 0)")
            if let reply, reply.isComplete, reply.status < 500 { return reply }
        }
        // A responder that pauses its calls to a provider replies 429.
        var reply = try server.address.perform(call)
        try await eventually("the server calls the provider again") {
            if reply.status == 429 { reply = try server.address.perform(call) }
            return reply.status != 429
        }
        return reply
    }

    private func send(_ bytes: [UInt8], to address: JSONValue) throws {
        let status = try server.send(bytes, toStorage: address)
        guard [200, 201].contains(status) else {
            throw difference(["the storage replies \(status) to \(bytes.count) bytes"])
        }
    }

    /// Confirms that all bytes are in the storage, sometimes again after a lost reply.
    private mutating func confirm(
        _ request: Request, _ body: [UInt8], _ upload: PieceCalls, by caller: Caller
    ) async throws {
        var reply = try await performUntilAnswered(upload.confirmed(ofBytes: body.count))
        if random.chance(30), reply.messageParameters?.creationDate != nil {
            reply = try server.address.perform(upload.confirmed(ofBytes: body.count))
        }
        // The owner of the storage may have left meanwhile.
        if reply.json?.code?.text == "upload_offset_mismatch" {
            return try sendThroughServer(request, body, upload, by: caller)
        }
        if reply.messageParameters?.creationDate == nil { try abandon(upload) }
        try end(request, by: caller, with: reply, "sent to the storage")
    }

    private mutating func sendThroughServer(
        _ request: Request, _ body: [UInt8], _ upload: PieceCalls, by caller: Caller
    ) throws {
        var piece = upload.append(from: 0)
        piece.body = body
        let reply = try server.address.perform(piece)
        if reply.messageParameters?.creationDate == nil { try abandon(upload) }
        try end(request, by: caller, with: reply, "through the server")
    }
}
