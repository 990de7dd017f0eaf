/// Tells the caller's user id; the answer to CheckCreds and AddUser.
public struct UserIDResponse: ResponseMessage {
    /// The caller. Clients crash without it.
    public let userId: UserID

    /// Puts the answer together.
    public init(userId: UserID) {
        self.userId = userId
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("userId", userId)
        }
    }
}
