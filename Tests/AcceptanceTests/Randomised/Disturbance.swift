import SyncModel
import TestSupport

/// A problem during a request.
enum Disturbance {
    case none
    /// The server performs the request, the reply is lost, and the phone sends the request again.
    case lostReply
    /// The phone loses its connection right after sending, and immediately sends the request again.
    case hangUp
    /// The phone loses its connection in the middle of an upload's body.
    case cutBody
    /// The upload arrives in pieces, and the first one is cut off.
    case inPieces
    /// The phone sends the upload's bytes, or the first of them, directly to the storage.
    case direct
    /// The phone sends the upload with others of its queue in one request.
    case inOneForm
    /// The provider misbehaves.
    case cloudTrouble(CloudTrouble)
    /// A responder is killed after `delay` microseconds.
    case killedResponder(delay: Int)
    /// Another caller sends a request at the same moment.
    case simultaneous
    /// Others read the group continuously.
    case watched
    /// The server's tokens for a person's storage expire.
    case expiredTokens(Person)

    /// Chooses a disturbance for this request, most often none.
    static func random(
        for request: Request, _ random: inout SeededGenerator, among cast: Cast, mayKill: Bool
    ) -> Disturbance {
        let isUpload = if case .uploadFile = request { true } else { false }
        let isReupload = if case .reuploadFile = request { true } else { false }
        let isDownload = if case .downloadFile = request { true } else { false }
        let isCommit = if case .doneUploads = request { true } else { false }
        if isCommit && random.chance(25) { return .watched }
        if (isUpload || isReupload || isDownload) && random.chance(12) {
            return .cloudTrouble(CloudTrouble.random(isUpload: !isDownload, at: cast.storages, &random))
        }
        if isUpload && random.chance(2) { return .cutBody }
        if isReupload && random.chance(15) { return .inPieces }
        if isUpload && random.chance(18) { return random.pick([.inPieces, .direct, .inOneForm]) ?? .inOneForm }
        return random.pick(weighted: [
            (820, .none), (60, .lostReply), (40, .hangUp), (60, .simultaneous),
            (mayKill ? 14 : 0, .killedResponder(delay: Int.random(in: 0...20_000, using: &random))),
            (
                6,
                .expiredTokens(
                    random.pick(cast.people.filter { cast.activeAccount(of: $0).bringsStorage }) ?? cast.people[0])
            ),
        ])
    }
}

extension Disturbance {
    /// A word for the statistics.
    var word: String {
        switch self {
        case .none: "none"
        case .lostReply: "lost reply"
        case .hangUp: "hang-up"
        case .cutBody: "cut body"
        case .inPieces: "in pieces"
        case .direct: "direct"
        case .inOneForm: "in one form"
        case .cloudTrouble: "cloud trouble"
        case .killedResponder: "killed responder"
        case .simultaneous: "simultaneous"
        case .watched: "watched"
        case .expiredTokens: "expired tokens"
        }
    }
}
