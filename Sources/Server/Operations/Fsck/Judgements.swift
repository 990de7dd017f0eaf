import Store

extension GroupInvariant {
    var judgement: Judgement {
        switch self {
        case .membershipOfNothing: Judgement(.error, "A membership names a user or a group that does not exist.")
        case .memberOfEndedGroup: Judgement(.error, "A group that has ended still has members.")
        case .groupWithoutMembers: Judgement(.error, "A group without members has not ended.")
        case .groupWithoutAdmin:
            Judgement(
                .error, "A group has nobody who can run it.",
                repair: "makes somebody admin, chosen as when an admin leaves")
        case .memberWithForeignOwner:
            Judgement(
                .warning, "A member's new files would go to somebody who is not in the group.",
                repair: "leaves the member without storage in that group, as when their owner leaves")
        case .memberWithOwnerWithoutStorage:
            Judgement(
                .error, "A member's new files would go to somebody who has no storage.",
                repair: "leaves the member without storage in that group, as when their owner leaves")
        case .commitFromTheFuture:
            Judgement(.error, "A group remembers a commit that is newer than its master version.")
        case .invitationToNothing:
            Judgement(
                .warning, "An invitation is to a group that has ended or does not exist.",
                repair: "removes the invitation, with which nobody could join")
        case .invitationByNobody:
            Judgement(
                .warning, "Who invited, or whose storage the guest would use, is not in the group.",
                repair: "removes the invitation, as when an inviter leaves")
        case .invitationUsedUp:
            Judgement(
                .warning, "An invitation has no acceptances left and is still there.",
                repair: "removes the invitation, with which nobody could join")
        case .deviceOfNobody: Judgement(.error, "A device belongs to a user who does not exist.")
        case .pushRegistrationOfNobody:
            Judgement(.error, "A device that is notified belongs to a user who does not exist.")
        case .storageWithoutFolder:
            Judgement(.error, "A Google user has no folder name, so no file of theirs can be stored.")
        case .ownerWithoutTokens:
            Judgement(.note, "No tokens are stored for a user with storage: they have to sign in again.")
        }
    }
}

extension FileInvariant {
    var judgement: Judgement {
        switch self {
        case .fileOfNoGroup: Judgement(.error, "A file belongs to a group that does not exist.")
        case .liveFileInEndedGroup:
            Judgement(
                .error, "A file of a group that has ended is not deleted.",
                repair: "marks the file deleted; its bytes stay in their owner's storage")
        case .liveFileWithoutOwner:
            Judgement(
                .error, "A file's owner is not in the group, so its bytes cannot be reached.",
                repair: "marks the file deleted with a new master version, as when an owner leaves; its bytes stay")
        case .fileInOtherStorage: Judgement(.error, "A file is said to lie in another storage than its owner has.")
        case .deletedFileWithObject: Judgement(.error, "A deleted file still refers to an object.")
        case .changeFromTheFuture:
            Judgement(.error, "A file changed at a master version that its group has not reached: phones may miss it.")
        case .fileLiveTwice: Judgement(.error, "A file lives in two groups, which was never taken over so.")
        case .objectOfTwoFiles: Judgement(.error, "Two files refer to one object: deleting one would take the other.")
        case .impossibleVersion: Judgement(.error, "A version is negative.")
        case .metaDataIncomplete: Judgement(.error, "Of metadata and their version only one is there.")
        case .checkSumOfOtherStorage: Judgement(.error, "A checksum is not of the kind that the storage has.")
        case .contentUnknown:
            Judgement(.error, "A living file that was uploaded here lacks its object, size or checksums.")
        case .unusableIdentifier: Judgement(.error, "A file or device UUID is none, or the type is empty.")
        }
    }
}

extension WorkInvariant {
    var judgement: Judgement {
        switch self {
        case .stagedInNoGroup:
            Judgement(
                .warning, "A change waits for a commit to a group that has ended or does not exist.",
                repair: "withdraws the change, as when a group ends; its object is deleted unless a file needs it")
        case .stagedByNonMember:
            Judgement(
                .warning, "A change waits for a commit by somebody who is not in the group.",
                repair: "withdraws the change, as when a member leaves; its object is deleted unless a file needs it")
        case .stagedUploadIncomplete: Judgement(.error, "A change that waits lacks what its commit needs.")
        case .batchMemberWithoutBatch:
            Judgement(.note, "A change belongs to a batch that was forgotten; it is withdrawn when it is old enough.")
        case .batchOfNobody:
            Judgement(
                .warning, "A batch belongs to a user or group that does not exist.", repair: "forgets the batch")
        case .commitOfNobody:
            Judgement(
                .warning, "A remembered commit belongs to a user or group that does not exist.",
                repair: "forgets the commit, about which nobody can ask")
        case .contentHashOfNobody:
            Judgement(
                .warning, "What an object's bytes are is remembered for a user who does not exist.",
                repair: "forgets it; it can be found out again")
        case .workOfNobody:
            Judgement(
                .note, "Work concerns a user who does not exist: nothing can be done.",
                repair: "drops the work, as the jobs role would")
        case .workIncomplete: Judgement(.error, "Work does not say what it is about: see syncctl jobs.")
        case .workInOtherStorage:
            Judgement(.error, "Work concerns another storage than the user has: see syncctl jobs.")
        case .workStuck:
            Judgement(.warning, "Work has failed at least ten times for more than a day: see syncctl jobs.")
        case .workFarOff:
            Judgement(
                .warning, "Work is put off for more than a week: the clock may have been wrong. See syncctl jobs.")
        }
    }
}
