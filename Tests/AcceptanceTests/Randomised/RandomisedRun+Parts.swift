import SyncModel
import TestSupport

/// A download of which only the first bytes arrived.
struct BrokenDownload {
    let request: Request
    let caller: Caller
    /// The ETag of the bytes.
    let tag: String
    let contents: [UInt8]
    /// The account that stored the file then; `nil` if uncertain.
    let account: Account?
    let received: Int

    /// - Returns: `nil` if the reply has no bytes.
    init?(
        _ request: Request, by caller: Caller, _ reply: HTTPReply, from account: Account?,
        _ random: inout SeededGenerator
    ) {
        guard case .downloadFile = request, reply.status == 200, reply.isComplete, !reply.body.isEmpty,
            let tag = reply.values(of: "etag").first
        else { return nil }
        self.request = request
        self.caller = caller
        self.tag = tag
        contents = reply.body
        self.account = account
        received = Int.random(in: 0..<contents.count, using: &random)
    }
}

/// Downloads that are resumed later, perhaps after the file has changed.
extension RandomisedRun {
    private static let mostBroken = 20

    /// Treats some of the downloads as interrupted.
    mutating func interrupt(_ request: Request, by caller: Caller, _ reply: HTTPReply) {
        guard random.chance(50) else { return }
        let file = entry(of: request)?.file
        let account = file?.contentState == .stored ? file?.account : nil
        guard let broken = BrokenDownload(request, by: caller, reply, from: account, &random) else { return }
        if brokenDownloads.count == Self.mostBroken { brokenDownloads.removeFirst() }
        brokenDownloads.append(broken)
    }

    /// Resumes an interrupted download, which must continue with the bytes of its beginning or be rejected.
    mutating func resumeDownload() throws {
        let replaced = brokenDownloads.filter(isReplaced)
        guard let broken = random.pick(replaced.isEmpty || random.chance(50) ? brokenDownloads : replaced) else {
            return
        }
        var call = try httpCall(broken.request, by: broken.caller)
        call.headers += [("Range", "bytes=\(broken.received)-"), ("If-Range", broken.tag)]
        let reply = try server.address.perform(call)
        let isRight: Bool
        switch reply.status {
        case 206:
            isRight =
                reply.isComplete && reply.body == Array(broken.contents.dropFirst(broken.received))
                && reply.values(of: "etag") == [broken.tag]
            tally.resumed += 1
            if isReplaced(broken) { tally.resumedAfterReplacement += 1 }
        case 200:
            // Stale, gone, or other bytes.
            isRight = reply.values(of: "etag") != [broken.tag] && !mustResume(broken)
        case 400..<500: isRight = !mustResume(broken)
        default: isRight = false
        }
        guard isRight else {
            throw difference([
                "\(broken.caller) goes on with \(PhoneCall(broken.request).description) at byte \(broken.received) "
                    + "of \(broken.tag): \(reply)"
            ])
        }
    }

    private func entry(of download: Request) -> (group: Group, file: File, version: Int)? {
        guard possibilities.worlds.count == 1, case .downloadFile(let file, let version, _) = download,
            let group = possibilities.likeliest.groups[file.group.group], let entry = group.files[file.file]
        else { return nil }
        return (group, entry, version)
    }

    private func isReplaced(_ broken: BrokenDownload) -> Bool {
        entry(of: broken.request).map { $0.file.version > $0.version } ?? false
    }

    /// Whether the bytes still exist and the caller may read them.
    private func mustResume(_ broken: BrokenDownload) -> Bool {
        guard let (group, file, version) = entry(of: broken.request) else { return false }
        return !group.isDeleted && group.members[broken.caller.person] != nil && !file.isDeleted
            && file.version == version && file.contentState == .stored && file.account == broken.account
    }
}
