import Store
import SyncProtocol

/// The effect on a device's staged change of a file when the device stages another one for the same file.
///
/// A pure decision. The later request wins; metadata and an upload belong together, so the second of them is merged
/// with the first.
struct StagedReplacement: Equatable {
    /// The change staged from now on.
    var change: StagedChange
    /// Whether the same change is already staged, so that nothing needs to be written.
    var isRepetition = false
    /// The change that was staged before and is replaced; its object must be deleted.
    var givenUp: StagedChange?

    /// Decides about a change that is valid for the group's current state.
    ///
    /// - Parameters:
    ///   - requested: must not be an upload or undelete that is already staged (``UploadDecision/repeated``).
    ///   - staged: what the device has staged for the file.
    ///   - current: the committed file, if the group has it.
    static func of(
        _ requested: StagedChange, over staged: StagedChange?, current: FileRecord?
    ) -> StagedReplacement {
        guard let staged else { return StagedReplacement(change: requested) }
        switch requested.kind {
        case .upload, .undelete:
            var change = requested
            if change.appMetaDataVersion == nil, let version = staged.appMetaDataVersion,
                version.isNext(after: current)
            {
                change.appMetaData = staged.appMetaData
                change.appMetaDataVersion = version
            }
            return StagedReplacement(change: change, givenUp: staged)
        case .metadata:
            // Metadata are merged with an upload that can still be committed; an upload that another device has made
            // obsolete is replaced.
            let isJoining = staged.content != nil && staged.fileVersion == current?.fileVersion.next
            var change = isJoining ? staged : requested
            change.batchUUID = requested.batchUUID
            change.appMetaData = requested.appMetaData
            change.appMetaDataVersion = requested.appMetaDataVersion
            return StagedReplacement(
                change: change, isRepetition: change == staged, givenUp: isJoining ? nil : staged)
        case .deletion:
            return StagedReplacement(
                change: requested, isRepetition: requested == staged, givenUp: staged)
        }
    }

    /// Writes the decision into the row locked by ``StoreSession/claimStaging(of:in:at:)``; the row then belongs to no
    /// batch.
    func apply(in area: StagingArea, at now: WireDate, _ session: inout StoreSession) throws(StoreError) {
        if isRepetition { return }
        // If names are unique, the new upload may have reused the object of the replaced one.
        if let givenUp, givenUp.content?.objectID == nil || givenUp.content?.objectID != change.content?.objectID {
            try session.addDeletion(ofObjectOf: givenUp, in: area, at: now)
        }
        try session.stage(change, in: area, at: now)
    }
}
