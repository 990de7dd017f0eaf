import SyncModel
import TestSupport

/// Uploads in pieces, and of many files at once (docs/protocol.md, sections 8.29 and 8.38): others see the same result as
/// from UploadFile.
extension RandomisedRun {
    /// The phone loses its connection at some point, others act meanwhile, and the phone resumes at the offset that the
    /// storage has.
    mutating func uploadInPieces(_ request: Request, by caller: Caller) throws {
        let whole = try httpCall(request, by: caller)
        guard let body = whole.body else { return try make(request, by: caller) }
        let created = try server.address.perform(
            HTTPCall(
                // ReuploadFile begins an upload in pieces itself.
                "POST", whole.target.replacing("/UploadFile/", with: "/CreateUpload/"),
                headers: whole.headers + [("Upload-Length", String(body.count))]))
        if created.json?.code?.text == "checksum_mismatch", request.announcesItsBytes {
            return try make(request, by: caller, "since it may not come in pieces")
        }
        guard created.status == 201 else { return try end(request, by: caller, with: created, "not begun") }
        let upload = try PieceCalls(created, headers: whole.headers)

        let conversation = try HTTPConversation(to: server.address)
        try conversation.send(upload.append(from: 0).head(for: server.address, contentLength: body.count))
        try conversation.send(body.prefix(Int.random(in: 0...max(0, body.count - 1), using: &random)))
        if random.chance(50) { conversation.hangUp() } else { conversation.finishSending() }
        try perhapsLetOthersAct(meanwhile: caller)
        let head = try server.address.perform(upload.offset)
        guard head.status == 204, let offset = head.values(of: "upload-offset").first.flatMap({ Int($0) }),
            0...body.count ~= offset
        else { throw difference(["the offset of an upload is \(head)"]) }
        var rest = upload.append(from: offset)
        rest.body = Array(body[offset...])
        let reply = try server.address.perform(rest)
        if !reply.isUploadComplete { try abandon(upload) }
        try end(request, by: caller, with: reply, "from byte \(offset) on")
    }

    /// In half of the cases, lets another caller make a request during the upload.
    mutating func perhapsLetOthersAct(meanwhile caller: Caller) throws {
        guard random.chance(50) else { return }
        let other = RequestPlanner(world: possibilities.likeliest, cast: cast).next(&random)
        guard other.caller.person != caller.person else { return }
        if possibilities.likeliest.users[other.caller.person] == nil { try cast.signInAgain(other.caller.person) }
        try make(other.request, by: other.caller, "while \(caller) uploads in pieces")
    }

    /// Abandons an upload that the phone does not continue, so that it does not remain until it expires.
    func abandon(_ upload: PieceCalls) throws {
        let abandoned = try server.address.perform(upload.abandoned)
        guard [204, 404].contains(abandoned.status) else { throw difference(["abandoned: \(abandoned)"]) }
    }

    /// Sends up to four files of the phone's queue in one request; rarely one that is too large for that.
    mutating func uploadInOneForm(_ request: Request, by caller: Caller) throws {
        guard case .uploadFile(let first) = request else { return try make(request, by: caller) }
        let planner = RequestPlanner(world: possibilities.likeliest, cast: cast)
        var uploads = [first]
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            let next = planner.upload(to: first.group.group, by: caller, &random)
            if !uploads.contains(where: { $0.file == next.file }) { uploads.append(next) }
        }
        uploads.removeAll { $0.content.bytes.count > 262_144 }
        let calls = uploads.map { PhoneCall(.uploadFile($0)) }
        guard !calls.isEmpty else { return try make(request, by: caller) }
        let form = SmallFilesForm(calls.map { (contents: $0.body ?? [], parameters: $0.parameters) })
        let raw = try server.address.perform(
            HTTPCall(
                "POST", "/UploadSmallFiles/\(ClientQuery.text(["sharingGroupUUID": first.group.group]))",
                headers: httpCall(request, by: caller).headers + [SmallFilesForm.contentType], body: form.body))
        var exchanges: [Exchange] = []
        for (call, reply) in zip(calls, try Reply.ofSmallFiles(raw, count: calls.count)) {
            note("\(caller) \(call.description) [one of \(calls.count)] → \(reply?.description ?? "nothing")")
            exchanges.append(try answered(Exchange(call.request, from: caller, serial: nextSerial(), reply: reply)))
        }
        // In any order, as one may complete a batch, whose commit makes the others outdated.
        try account(for: exchanges)
    }

    /// Applies the last reply to the model like a reply to UploadFile.
    mutating func end(
        _ request: Request, by caller: Caller, with raw: HTTPReply, _ remark: String
    ) throws {
        let call = PhoneCall(request)
        let reply = try Reply(raw, to: call)
        note("\(caller) \(call.description) [in pieces, \(remark)] → \(reply?.description ?? "nothing")")
        try account(for: [answered(Exchange(request, from: caller, serial: nextSerial(), reply: reply))])
    }
}

extension HTTPReply {
    /// Whether the reply ends an upload.
    var isUploadComplete: Bool { messageParameters?.creationDate != nil || messageParameters?.result != nil }
}

extension Request {
    /// Whether the announced checksum fits the bytes, as computed for any storage. Not every kind of upload accepts the
    /// checksum of the owner's former storage.
    var announcesItsBytes: Bool {
        guard case .uploadFile(let upload) = self else { return false }
        return upload.content.checkSums.values.contains { $0.lowercased() == upload.checkSum.lowercased() }
    }
}
