package import SyncProtocol

/// Ties an answer to the action that asked for it.
package struct EngineToken: Sendable, Hashable, Comparable {
    let rawValue: Int

    /// Whether one was given before another.
    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// What the engine wants done, in this order, after its changes of the state are stored.
package enum EngineAction: Sendable {
    /// Send a request; answer with ``EngineEvent/reply(_:_:)``. Several transfers may be under way, but one of anything else.
    case send(EngineToken, ServerRequest)
    /// The outcome of a request does not matter any more: end it early if that is possible, and answer all the same.
    case cancel(EngineToken)
    /// Ask the app about a download; answer with ``EngineEvent/contentConflictResolved(_:_:)``.
    case resolveContentConflict(EngineToken, ContentDownloadConflict)
    /// Ask the app about deletions; answer with ``EngineEvent/deletionConflictsResolved(_:_:)``.
    case resolveDeletionConflicts(EngineToken, [DownloadDeletionConflict])
    /// Hand a file group to the app; answer with ``EngineEvent/delivered(_:taken:)``.
    case deliver(EngineToken, [DownloadOperation], containsGone: Bool)
    /// Wait for a random time within these bounds, in seconds; answer with ``EngineEvent/waited(_:)``.
    case wait(EngineToken, seconds: ClosedRange<Int>)
    /// Remove a file of the library's, to which no row refers any more.
    case removeFile(LocalFileLocation)
    /// Tell the app what happened.
    case report(SyncEvent)
    /// Tell the app what went wrong.
    case reportError(SyncError)
    /// Tell the app about groups that others created, changed or ended.
    case reportSharingGroups(created: [SharingGroup], updated: [SharingGroup], deleted: [SharingGroup])
}

/// What came of an action. Events whose action was given up since are ignored.
package enum EngineEvent: Sendable {
    /// The outcome of a request.
    case reply(EngineToken, ServerReply)
    /// The app's answer to a conflict; nil if it wants to be asked again in a later sync.
    case contentConflictResolved(EngineToken, ContentDownloadResolution?)
    /// The app's answers to conflicts; files without an answer are asked about again in a later sync.
    case deletionConflictsResolved(EngineToken, [FileUUID: DownloadDeletionResolution])
    /// The app has, or has not, taken what was handed to it.
    case delivered(EngineToken, taken: Bool)
    /// The time is over.
    case waited(EngineToken)
}

/// A sync that the app wants.
package struct SyncRequest: Sendable, Equatable {
    /// The group; nil refreshes the list of groups alone.
    package let sharingGroupUUID: SharingGroupUUID?
    /// Whether to try again what was out of reach.
    package let reAttemptGoneDownloads: Bool
    /// What the other members are told if something is committed.
    package let pushNotificationMessage: String?

    /// Puts a request together.
    package init(
        sharingGroupUUID: SharingGroupUUID?, reAttemptGoneDownloads: Bool = false,
        pushNotificationMessage: String? = nil
    ) {
        self.sharingGroupUUID = sharingGroupUUID
        self.reAttemptGoneDownloads = reAttemptGoneDownloads
        self.pushNotificationMessage = pushNotificationMessage
    }
}

/// What the server can do beyond the first release of its protocol.
package struct ServerCapabilities: Sendable, Equatable {
    /// Whether it recognises a repeated commit by its id.
    package var commitID: Bool
    /// Whether its index can be limited to what changed.
    package var since: Bool
    /// Whether staged changes can be withdrawn.
    package var discardUploads: Bool
    /// Whether changes can commit themselves with the last of them.
    package var batches: Bool

    /// A server with all extensions.
    package static let all = Self(commitID: true, since: true, discardUploads: true, batches: true)
    /// A server without any.
    package static let none = Self(commitID: false, since: false, discardUploads: false, batches: false)

    /// Puts them together.
    package init(commitID: Bool, since: Bool, discardUploads: Bool, batches: Bool) {
        self.commitID = commitID
        self.since = since
        self.discardUploads = discardUploads
        self.batches = batches
    }
}
