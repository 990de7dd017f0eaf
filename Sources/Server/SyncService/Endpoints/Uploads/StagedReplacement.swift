import Store
import SyncProtocol

/// What becomes of a device's staged change of a file when the device stages another one for the same file.
///
/// A pure decision. The later request wins; metadata and upload go together, so whichever comes second joins the other.
struct StagedReplacement: Equatable {
    /// What is staged from now on.
    var change: StagedChange
    /// Just this is staged already, so nothing needs to be written.
    var isRepetition = false
    /// What was staged and is no longer; its object must be deleted.
    var givenUp: StagedChange?

    /// Decides about a change that fits what the group has.
    ///
    /// - Parameters:
    ///   - requested: an upload or undelete is none that is staged already (``UploadDecision/repeated``).
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
            // Together with an upload that can still be committed; one that lost to another device gives way.
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

    /// Writes the decision into the row that ``StoreSession/claimStaging(of:in:at:)`` has locked; it is in no batch then.
    func apply(in area: StagingArea, at now: WireDate, _ session: inout StoreSession) throws(StoreError) {
        if isRepetition { return }
        // Where names are unique, what comes may have found the object of what goes.
        if let givenUp, givenUp.content?.objectID == nil || givenUp.content?.objectID != change.content?.objectID {
            try session.addDeletion(ofObjectOf: givenUp, in: area, at: now)
        }
        try session.stage(change, in: area, at: now)
    }
}
