package import SyncProtocol

/// Connects an answer to the action that requested it.
package struct EngineToken: Sendable, Hashable, Comparable {
    let rawValue: Int

    /// Creates the token with a number, which must be unique.
    package init(rawValue: Int) { self.rawValue = rawValue }

    /// Whether one token was issued before another.
    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Actions to perform, in this order, after the engine's state changes are stored.
package enum EngineAction: Sendable {
    /// Send a request; answer with ``EngineEvent/reply(_:_:)``. Several transfers may be in progress, but only one
    /// request of any other kind.
    case send(EngineToken, ServerRequest)
    /// The outcome of a request no longer matters: cancel it if possible, and still answer.
    case cancel(EngineToken)
    /// Ask the app about a download; answer with ``EngineEvent/contentConflictResolved(_:_:)``.
    case resolveContentConflict(EngineToken, ContentDownloadConflict)
    /// Ask the app about deletions; answer with ``EngineEvent/deletionConflictsResolved(_:_:)``.
    case resolveDeletionConflicts(EngineToken, [DownloadDeletionConflict])
    /// Ask the app for the contents of a file that are missing from the server; answer with
    /// ``EngineEvent/contents(_:_:)``.
    case askForContents(EngineToken, SyncAttributes, FileVersion)
    /// Deliver a file group to the app; answer with ``EngineEvent/delivered(_:taken:)``.
    case deliver(EngineToken, [DownloadOperation], containsGone: Bool)
    /// Wait for a random time within this range, in seconds; answer with ``EngineEvent/waited(_:)``.
    case wait(EngineToken, seconds: ClosedRange<Int>)
    /// Remove a file owned by the library that no row references.
    case removeFile(LocalFileLocation)
    /// Report an event to the app.
    case report(SyncEvent)
    /// Report an error to the app.
    case reportError(SyncError)
    /// The sync of a group has failed, and its delayed requests with it; a sync of another group follows.
    case syncFailed(SharingGroupUUID, SyncError)
    /// Inform the app about groups that others created, changed or ended.
    case reportSharingGroups(created: [SharingGroup], updated: [SharingGroup], deleted: [SharingGroup])
}

/// The result of an action. Events of abandoned actions are ignored.
package enum EngineEvent: Sendable {
    /// The outcome of a request.
    case reply(EngineToken, ServerReply)
    /// The app's answer to a conflict; nil to be asked again in a later sync.
    case contentConflictResolved(EngineToken, ContentDownloadResolution?)
    /// The app's answers to conflicts; a later sync asks again about files without an answer.
    case deletionConflictsResolved(EngineToken, [FileUUID: DownloadDeletionResolution])
    /// The app's contents of a file that are missing from the server.
    case contents(EngineToken, SuppliedContents)
    /// The app has, or has not, accepted the delivery; with the sizes in bytes of the delivered contents.
    case delivered(EngineToken, taken: Bool, sizes: [FileUUID: Int64] = [:])
    /// The wait is over.
    case waited(EngineToken)
}

/// The app's answer to a request for contents that are missing from the server.
package enum SuppliedContents: Sendable {
    /// The contents.
    case file(UploadSource)
    /// The app does not have them.
    case notAvailable
    /// The app has changed the file since, and will queue the change.
    case differentVersion
}

/// A sync requested by the app.
package struct SyncRequest: Sendable, Equatable {
    /// The group; nil refreshes only the list of groups.
    package let sharingGroupUUID: SharingGroupUUID?
    /// Whether to retry files that were out of reach.
    package let reAttemptGoneDownloads: Bool
    /// The push notification text for the other members if something is committed.
    package let pushNotificationMessage: String?

    /// Creates a request.
    package init(
        sharingGroupUUID: SharingGroupUUID?, reAttemptGoneDownloads: Bool = false,
        pushNotificationMessage: String? = nil
    ) {
        self.sharingGroupUUID = sharingGroupUUID
        self.reAttemptGoneDownloads = reAttemptGoneDownloads
        self.pushNotificationMessage = pushNotificationMessage
    }
}

/// The server's extensions of the first release of its protocol.
package struct ServerCapabilities: Sendable, Equatable {
    /// Whether the server recognises a retried commit by its id.
    package var commitID: Bool
    /// Whether its index can be limited to changes.
    package var since: Bool
    /// Whether staged changes can be discarded.
    package var discardUploads: Bool
    /// Whether a batch of changes can be committed on arrival of its last change.
    package var batches: Bool

    /// A server with all extensions.
    package static let all = Self(commitID: true, since: true, discardUploads: true, batches: true)
    /// A server without extensions.
    package static let none = Self(commitID: false, since: false, discardUploads: false, batches: false)

    /// Creates capabilities.
    package init(commitID: Bool, since: Bool, discardUploads: Bool, batches: Bool) {
        self.commitID = commitID
        self.since = since
        self.discardUploads = discardUploads
        self.batches = batches
    }
}
