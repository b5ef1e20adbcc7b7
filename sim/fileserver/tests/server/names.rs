//! LOOKUP, READLINK, REMOVE, RMDIR, RENAME and LINK.

use nfs::{
    FileHandle, GetAttributes, Link, LookUp, MakeDirectory, MakeSymbolicLink, Name, NewAttributes,
    Path, Place, Procedure, ReadLink, Remove, RemoveDirectory, Rename, Status,
};

use crate::rig::{Rig, name};

fn make_directory(rig: &mut Rig, place: Place<'_>) -> FileHandle {
    let attributes = NewAttributes::default();
    let made = rig.done(MakeDirectory { place, attributes });
    made.object.expect("a handle")
}

fn at(directory: FileHandle, text: &str) -> Place<'_> {
    Place {
        directory,
        name: name(text),
    }
}

fn links(rig: &mut Rig, object: FileHandle) -> u32 {
    rig.done(GetAttributes { object }).links
}

#[test]
fn a_name_leads_to_a_file_until_it_is_removed() {
    let mut rig = Rig::default();
    assert_eq!(rig.look_up("file"), Err(Status::NoEntry));
    let file = rig.create("file");
    let place = rig.place("file");
    let found = rig.done(LookUp { place });
    assert_eq!(found.object, file);
    assert_eq!(
        found.directory.map(|directory| directory.size),
        Some(3 * 32)
    );

    let change = rig.done(Remove { place });
    let (before, after) = (change.before.expect("before"), change.after.expect("after"));
    assert!(before.modified < after.times.modified);
    assert_eq!(rig.look_up("file"), Err(Status::NoEntry));
    assert_eq!(rig.status(GetAttributes { object: file }), Status::Stale);
    assert_eq!(rig.status(Remove { place }), Status::NoEntry);
}

#[test]
fn a_number_that_is_used_again_has_another_handle() {
    let mut rig = Rig::default();
    let old = rig.create("old");
    let number = rig.done(GetAttributes { object: old }).file_id;
    rig.done(Remove {
        place: rig.place("old"),
    });
    let new = rig.create("new");
    assert_eq!(rig.done(GetAttributes { object: new }).file_id, number);
    assert_eq!(rig.status(GetAttributes { object: old }), Status::Stale);
}

#[test]
fn files_and_directories_are_removed_by_their_own_procedures() {
    let mut rig = Rig::default();
    rig.create("file");
    let place = rig.place("directory");
    let directory = make_directory(&mut rig, place);
    assert_eq!(rig.status(Remove { place }), Status::IsDirectory);
    let file = rig.place("file");
    assert_eq!(
        rig.status(RemoveDirectory { place: file }),
        Status::NotDirectory
    );
    make_directory(&mut rig, at(directory, "inner"));
    assert_eq!(rig.status(RemoveDirectory { place }), Status::NotEmpty);
    rig.done(RemoveDirectory {
        place: at(directory, "inner"),
    });
    rig.done(RemoveDirectory { place });
    assert_eq!(rig.status(RemoveDirectory { place }), Status::NoEntry);
    assert_eq!(
        rig.status(LookUp {
            place: at(directory, "x")
        }),
        Status::Stale
    );
}

#[test]
fn a_file_lives_as_long_as_its_last_name() {
    let mut rig = Rig::default();
    let file = rig.create("one");
    let linked = rig.done(Link {
        file,
        place: rig.place("two"),
    });
    assert_eq!(
        linked.attributes.map(|attributes| attributes.links),
        Some(2)
    );
    rig.done(Remove {
        place: rig.place("one"),
    });
    assert_eq!(rig.look_up("two"), Ok(file));
    assert_eq!(links(&mut rig, file), 1);
    rig.done(Remove {
        place: rig.place("two"),
    });
    assert_eq!(rig.status(GetAttributes { object: file }), Status::Stale);
}

#[test]
fn links_have_rules() {
    let mut rig = Rig::default();
    let file = rig.create("file");
    let place = rig.place("file");
    assert_eq!(rig.status(Link { file, place }), Status::Exists);
    let directory = rig.root();
    let place = rig.place("new");
    assert_eq!(
        rig.status(Link {
            file: directory,
            place
        }),
        Status::IsDirectory
    );
    assert_eq!(
        rig.status(Link {
            file,
            place: at(file, "new")
        }),
        Status::NotDirectory
    );
}

#[test]
fn directories_count_those_below() {
    let mut rig = Rig::default();
    let root = rig.root();
    let [one, two] = ["one", "two"].map(|text| make_directory(&mut rig, at(root, text)));
    make_directory(&mut rig, at(one, "inner"));
    assert_eq!(
        [root, one, two].map(|directory| links(&mut rig, directory)),
        [4, 3, 2]
    );
    rig.done(Rename {
        from: at(one, "inner"),
        to: at(two, "inner"),
    });
    assert_eq!(
        [root, one, two].map(|directory| links(&mut rig, directory)),
        [4, 2, 3]
    );
    rig.done(Rename {
        from: at(root, "two"),
        to: at(root, "one"),
    });
    assert_eq!(
        [root, two].map(|directory| links(&mut rig, directory)),
        [3, 3]
    );
    assert_eq!(rig.status(GetAttributes { object: one }), Status::Stale);
}

#[test]
fn renaming_replaces_what_fits_and_nothing_else() {
    let mut rig = Rig::default();
    let root = rig.root();
    let (file, other) = (rig.create("file"), rig.create("other"));
    let [full, empty] = ["full", "empty"].map(|text| make_directory(&mut rig, at(root, text)));
    let inner = make_directory(&mut rig, at(full, "inner"));
    let rename = |from, to| Rename { from, to };
    let refused = [
        (at(root, "none"), at(root, "file"), Status::NoEntry),
        (at(root, "file"), at(root, "empty"), Status::IsDirectory),
        (at(root, "empty"), at(root, "file"), Status::NotDirectory),
        (at(root, "empty"), at(root, "full"), Status::NotEmpty),
        (
            at(root, "full"),
            at(inner, "below"),
            Status::InvalidArgument,
        ),
        (at(root, "full"), at(full, "below"), Status::InvalidArgument),
        (at(root, "file"), at(other, "below"), Status::NotDirectory),
    ];
    let before = rig.server.tree();
    for (from, to, status) in refused {
        assert_eq!(rig.status(rename(from, to)), status, "{from:?} {to:?}");
        assert_eq!(rig.server.tree(), before);
    }
    rig.done(rename(at(root, "file"), at(root, "other")));
    assert_eq!(rig.look_up("other"), Ok(file));
    assert_eq!(rig.status(GetAttributes { object: other }), Status::Stale);
    rig.done(rename(at(root, "full"), at(root, "empty")));
    assert_eq!(rig.look_up("empty"), Ok(full));
    assert_eq!(rig.status(GetAttributes { object: empty }), Status::Stale);
}

#[test]
fn renaming_to_another_name_of_the_same_file_changes_nothing() {
    let mut rig = Rig::default();
    let file = rig.create("one");
    rig.done(Link {
        file,
        place: rig.place("two"),
    });
    let (from, to) = (rig.place("one"), rig.place("two"));
    rig.done(Rename { from, to });
    rig.done(Rename { from, to: from });
    assert_eq!(
        (rig.look_up("one"), rig.look_up("two")),
        (Ok(file), Ok(file))
    );
}

#[test]
fn a_symbolic_link_leads_where_it_was_told() {
    let mut rig = Rig::default();
    let path = Path::new(b"../elsewhere").expect("a path");
    let made = rig.done(MakeSymbolicLink {
        place: rig.place("link"),
        attributes: NewAttributes::default(),
        path,
    });
    let link = made.object.expect("a handle");
    assert_eq!(made.attributes.map(|attributes| attributes.size), Some(12));
    assert_eq!(rig.done(ReadLink { link }).path.bytes(), path.bytes());
    let file = rig.create("file");
    assert_eq!(rig.status(ReadLink { link: file }), Status::InvalidArgument);
}

#[test]
fn names_that_nobody_may_have_are_answered_in_words() {
    let mut rig = Rig::default();
    let long = "x".repeat(255);
    rig.create(&long);
    let longer = [b'x'; 256];
    assert!(Name::new(&longer).is_err());
    for (text, word) in [
        (&longer[..], Status::NameTooLong),
        (&[b'x'; 4_096], Status::NameTooLong),
        (&[b'x'; 5_000], Status::NameTooLong),
        (b"", Status::InvalidArgument),
        (b"..", Status::InvalidArgument),
        (b"a/b", Status::InvalidArgument),
    ] {
        // A name that `Name` does not allow, encoded by hand.
        let mut arguments = Vec::new();
        let mut out = rpc::xdr::Writer::new(&mut arguments);
        out.opaque(rig.root().bytes()).opaque(text);
        let results = rig.results(Procedure::Remove.into(), &arguments);
        let mut expected = (word as u32).to_be_bytes().to_vec();
        let known = text.len() == 256 || text.len() == 4_096;
        if known {
            assert_eq!(results.expect("results")[..4], expected);
        } else {
            expected.extend([0; 8]);
            assert_eq!(results, Ok(&expected[..]), "{}", text.len());
        }
    }
}
