/// The body of every unsuccessful reply, smaller than 1 KiB.
///
/// It must be small because clients parse it only if it arrives in one read. It is also a problem details object (RFC
/// 9457): `type` is omitted, which means `about:blank`, and `code` takes the role of `type`.
public struct ErrorBody: ResponseMessage {
    /// Maximum size of the body, in bytes.
    public static let maximumBytes = 1_023

    /// A sentence for people. Longer ones are truncated so that the body stays within its limit.
    public let error: String
    /// Stable and machine-readable, such as `master_version_stale`; repeated in the header `syncserver-error-code`.
    public let code: String
    /// Links the reply to its lines in the server's log.
    public let requestId: String
    /// Whether the same request may succeed later.
    public let retryable: Bool
    /// Why something is permanently unavailable; only with status 410.
    public let goneReason: GoneReason?
    /// The account switch that is in progress; only with `switch_in_progress`.
    public let switchId: AccountSwitchID?
    /// The time from which the device's grant can be used; only with `grant_too_young`.
    public let usableFrom: WireDate?
    /// The time until which the device can undo the switch; only with `account_retired`, if it can.
    public let undoUntil: WireDate?
    /// The reply's status, repeated; nil if the body came from a server that does not include it.
    public let status: Int?
    /// The name of the status.
    public let title: String?
    /// The sentence of ``error``, repeated under the name that readers of `application/problem+json` expect.
    public let detail: String?

    /// Creates a body. `code` and `requestId` are truncated to 64 characters of printable ASCII.
    /// - Parameter isProblem: whether it is sent as `application/problem+json`.
    public init(
        error: String, code: String, requestId: String, retryable: Bool, goneReason: GoneReason? = nil,
        switchId: AccountSwitchID? = nil, usableFrom: WireDate? = nil, undoUntil: WireDate? = nil,
        status: Int? = nil, isProblem: Bool = false
    ) {
        self.error = error
        self.code = Self.short(code)
        self.requestId = Self.short(requestId)
        self.retryable = retryable
        self.goneReason = goneReason
        self.switchId = switchId
        self.usableFrom = usableFrom
        self.undoUntil = undoUntil
        self.status = status
        title = status.map(HTTPStatus.phrase)
        detail = isProblem ? error : nil
    }

    /// Writes the object, with the sentence truncated to fit.
    public func write(to writer: inout JSONWriter) {
        var rest = JSONWriter(form: writer.form)
        write(sentence: "", to: &rest)
        var room = Self.maximumBytes - rest.bytes.count
        var sentence = ""
        for scalar in error.unicodeScalars {
            room -= JSONWriter.asciiEscapedLength(of: String(scalar)) * (detail == nil ? 1 : 2)
            if room < 0 { break }
            sentence.unicodeScalars.append(scalar)
        }
        write(sentence: sentence, to: &writer)
    }

    private func write(sentence: String, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("error", text: sentence)
            writer.field("code", text: code)
            writer.field("requestId", text: requestId)
            writer.field("retryable", retryable)
            writer.field("goneReason", goneReason)
            writer.field("switchId", switchId)
            writer.field("usableFrom", usableFrom)
            writer.field("undoUntil", undoUntil)
            writer.field("title", text: title)
            if let status { writer.field("status", Int64(status)) }
            if detail != nil { writer.field("detail", text: sentence) }
        }
    }

    private static func short(_ text: String) -> String {
        String(decoding: text.utf8.filter { JSONWriter.isPlainASCII($0) }.prefix(64), as: UTF8.self)
    }
}

/// The body of an unsuccessful reply, as a client reads it; a server writes ``ErrorBody``.
///
/// Any member may be missing: older servers send only `error` and, if something is gone, `goneReason`, and
/// intermediaries between client and server may send anything.
public struct ReceivedErrorBody: Sendable, Hashable, Decodable {
    /// A sentence for people, as the server wrote it.
    public let error: String?
    /// Stable and machine-readable.
    public let code: String?
    /// The id under which the server logged the request.
    public let requestId: String?
    /// Whether the same request may succeed later.
    public let retryable: Bool?
    /// Why something is permanently unavailable; nil if it is not, or if this version does not know the reason.
    public let goneReason: GoneReason?
    /// The account switch that is in progress.
    public let switchId: AccountSwitchID?
    /// The time from which the device's grant can be used.
    public let usableFrom: WireDate?
    /// The time until which the device can undo the switch.
    public let undoUntil: WireDate?
    /// The status, repeated.
    public let status: Int?
    /// The name of the status.
    public let title: String?
    /// The sentence in the form of problem details (RFC 9457, section 3.1.4).
    public let detail: String?

    private enum CodingKeys: String, CodingKey {
        case error, code, requestId, retryable, goneReason, switchId, usableFrom, undoUntil, status, title, detail
    }

    /// Decodes a body; a member of an unexpected type is treated as missing.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func member<Value: Decodable>(_ key: CodingKeys) -> Value? {
            try? container.decodeIfPresent(Value.self, forKey: key)
        }
        error = member(.error)
        code = member(.code)
        requestId = member(.requestId)
        retryable = member(.retryable)
        goneReason = try? container.knownWord(.goneReason)
        switchId = member(.switchId)
        usableFrom = member(.usableFrom)
        undoUntil = member(.undoUntil)
        status = try? container.optionalNumber(.status)
        title = member(.title)
        detail = member(.detail)
    }
}
