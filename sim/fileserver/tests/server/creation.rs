//! CREATE, MKDIR, SYMLINK and MKNOD.

use nfs::{
    Create, CreateHow, CreateVerifier, Device, DeviceData, FileHandle, FileType, GetAttributes,
    LookUp, MakeDirectory, MakeNode, NewAttributes, Node, Place, Procedure, SetAttributes,
    Stability, Status, Value,
};

use crate::rig::{Rig, name};

fn sized(size: u64) -> NewAttributes {
    let (size, mode) = (Some(size), Some(0o600));
    NewAttributes {
        size,
        mode,
        ..NewAttributes::default()
    }
}

#[test]
fn unchecked_creation_takes_what_is_there_and_sets_its_size_only() {
    let mut rig = Rig::default();
    let file = rig.create("file");
    rig.write(file, 0, b"content", Stability::FileStable);
    let create = |rig: &Rig, new| Create {
        place: rig.place("file"),
        how: CreateHow::Unchecked(new),
    };
    let taken = rig.done(create(&rig, NewAttributes::default()));
    assert_eq!(taken.object, Some(file));
    assert_eq!(rig.server.content("file").as_deref(), Some(&b"content"[..]));
    let cut = rig.done(create(&rig, sized(0)));
    let attributes = cut.attributes.expect("attributes");
    assert_eq!((attributes.size, attributes.mode), (0, 0o644));
    rig.server.add_directory("file.d").expect("room");
    let place = rig.place("file.d");
    let how = CreateHow::Unchecked(NewAttributes::default());
    assert_eq!(rig.status(Create { place, how }), Status::IsDirectory);
}

#[test]
fn guarded_creation_takes_nothing_that_is_there() {
    let mut rig = Rig::default();
    let place = rig.place("file");
    let how = CreateHow::Guarded(sized(5));
    let made = rig
        .done(Create { place, how })
        .attributes
        .expect("attributes");
    assert_eq!((made.size, made.mode, made.links), (5, 0o600, 1));
    assert_eq!((made.user, made.group), (1_000, 100));
    assert_eq!(rig.status(Create { place, how }), Status::Exists);
}

#[test]
fn exclusive_creation_finds_its_own_file_again() {
    let mut rig = Rig::default();
    let place = rig.place("file");
    let how = |byte| CreateHow::Exclusive(CreateVerifier([byte; 8]));
    let file = rig.done(Create { place, how: how(1) }).object;
    assert_eq!(rig.done(Create { place, how: how(1) }).object, file);
    assert_eq!(rig.status(Create { place, how: how(2) }), Status::Exists);
    rig.input(fileserver::Input::Restart);
    assert_eq!(rig.done(Create { place, how: how(1) }).object, file);
    let object = file.expect("a handle");
    let attributes = NewAttributes::default();
    rig.done(SetAttributes {
        object,
        attributes,
        guard: None,
    });
    assert_eq!(rig.status(Create { place, how: how(1) }), Status::Exists);
}

#[test]
fn directories_and_nodes_are_made() {
    let mut rig = Rig::default();
    let place = rig.place("directory");
    let attributes = NewAttributes::default();
    let made = rig.done(MakeDirectory { place, attributes });
    let made = made.attributes.expect("attributes");
    assert_eq!(
        (made.kind, made.links, made.mode),
        (FileType::Directory, 2, 0o755)
    );
    assert_eq!(
        rig.status(MakeDirectory { place, attributes }),
        Status::Exists
    );

    let device = Device {
        major: 4,
        minor: 64,
    };
    let data = DeviceData { attributes, device };
    let nodes = [
        (
            Node::CharacterDevice(data),
            FileType::CharacterDevice,
            device,
        ),
        (Node::BlockDevice(data), FileType::BlockDevice, device),
        (
            Node::Socket(attributes),
            FileType::Socket,
            Device::default(),
        ),
        (Node::Pipe(attributes), FileType::Pipe, Device::default()),
    ];
    for (node, kind, device) in nodes {
        let text = format!("{kind:?}");
        let made = rig.done(MakeNode {
            place: rig.place(&text),
            node,
        });
        let made = made.attributes.expect("attributes");
        assert_eq!((made.kind, made.device), (kind, device));
    }
}

#[test]
fn a_node_of_a_type_that_is_none_is_refused_in_words() {
    let mut rig = Rig::default();
    let mut arguments = Vec::new();
    rig.place("node").encode(&mut arguments);
    FileType::Directory.encode(&mut arguments);
    let results = rig.results(Procedure::MakeNode.into(), &arguments);
    let mut expected = (Status::BadType as u32).to_be_bytes().to_vec();
    expected.extend([0; 8]);
    assert_eq!(results, Ok(&expected[..]));
}

#[test]
fn nothing_is_made_where_no_directory_is() {
    let mut rig = Rig::default();
    let file = rig.create("file");
    let attributes = NewAttributes::default();
    let place = Place {
        directory: file,
        name: name("below"),
    };
    let make = MakeDirectory { place, attributes };
    assert_eq!(rig.status(make), Status::NotDirectory);
    assert_eq!(rig.status(LookUp { place }), Status::NotDirectory);
}

#[test]
fn what_the_disk_cannot_hold_is_not_made() {
    let config = fileserver::Config {
        disk: units::Bytes::kibi(64),
        ..Default::default()
    };
    let mut rig = Rig::new(config);
    let attributes = NewAttributes::default();
    let mut made: Vec<FileHandle> = Vec::new();
    let status = loop {
        let text = format!("directory {}", made.len());
        let place = rig.place(&text);
        match rig.ask(MakeDirectory { place, attributes }).done() {
            Ok(done) => made.push(done.object.expect("a handle")),
            Err(status) => break status,
        }
    };
    assert_eq!((status, made.len()), (Status::NoSpace, 13));
    assert_eq!(rig.server.tree().len(), 13);
    let root = rig.root();
    assert_eq!(rig.done(GetAttributes { object: root }).links, 15);
}
